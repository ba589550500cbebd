"""Statistics of a target that arrives in chunks, which are not stored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad._support import Floats
from featgrad.math import targets
from featgrad.math.targets import WITH_CLASSES, Encoding
from featgrad.math.tasks import Task, task_of_values


@dataclass(frozen=True)
class Outputs:
    """Encoding of a target as output columns of mean 0 and variance 1."""

    encoding: Encoding
    means: Floats
    deviations: Floats  # 1 for a constant column
    variance: float  # of all columns together, before standardisation

    def __call__(self, y: Any) -> Floats:
        """Output columns of targets that were added."""
        return np.asarray((self.encoding.columns(y) - self.means) / self.deviations)


class TargetSums:
    """Class counts and moments of a target."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._n_rows = self._n_outputs = 0
        self._total = 0.0
        self._values: NDArray[Any] | None = None
        self._shares: NDArray[Any] = np.zeros(0)
        self._too_many, self._indicator = False, True
        self._means, self._squares = np.zeros((2, 0))

    def add(self, y: Any, weights: Floats) -> None:
        """Add rows of positive weights."""
        y = targets.as_array(y)
        multioutput = y.ndim == 2 and self._task not in WITH_CLASSES
        numeric = self._task in ("regression", "multilabel") or multioutput
        if not (numeric or self._too_many):
            values = targets.distinct(targets.one_column(y, self._task))
            self._merge_values(values, np.bincount(np.searchsorted(values, y), weights))
        if numeric or (self._task == "auto" and y.dtype.kind in "biuf"):
            kind = "multilabel" if self._task == "multilabel" else "regression"
            columns, added = Encoding(Task(kind), None, 1).columns(y), float(weights.sum())
            means = weights @ columns / added
            self._merge_moments(means, weights @ (columns - means) ** 2, added)
        self._indicator &= targets.is_indicator(y)
        self._n_outputs = 1 if y.ndim == 1 else y.shape[1]
        self._n_rows += len(y)
        self._total += float(weights.sum())

    def merge(self, other: "TargetSums") -> None:
        if other._n_rows == 0:
            return
        if self._n_rows and self._n_outputs != other._n_outputs:
            raise ValueError(
                f"y has {self._n_outputs} output(s) in some rows and {other._n_outputs} in "
                "others: give the same ones."
            )
        self._too_many |= other._too_many
        if other._values is not None:
            self._merge_values(other._values, other._shares)
        if len(other._means):
            self._merge_moments(other._means, other._squares, other._total)
        self._indicator &= other._indicator
        self._n_outputs = other._n_outputs
        self._n_rows += other._n_rows
        self._total += other._total

    def outputs(self, task: Task | None = None) -> Outputs:
        """Outputs after all rows were added, of the task that the values suggest or another one.

        A constant target is an error.
        """
        encoding = self.encoding(task or self.task()[0])
        if encoding.classes is None:
            means, squares = self._means, self._squares / self._total
        else:
            columns, shares = encoding(encoding.classes), self._shares / self._total
            means = shares @ columns
            squares = shares @ (columns - means) ** 2
        variance = float(squares.sum())
        targets.check_varies(variance, means)
        deviations = np.where(squares > 0, np.sqrt(squares), 1.0)
        return Outputs(encoding, means, deviations, variance)

    def encoding(self, task: Task) -> Encoding:
        if task not in WITH_CLASSES:
            return Encoding(task, None, self._n_outputs)
        if self._too_many:
            targets.refuse_classes(task)
        return Encoding(task, self._values, 1)

    def task(self) -> tuple[Task, bool]:
        """The task that the values suggest, and whether that is certain."""
        if self._task != "auto":
            return Task(self._task), True
        if self._too_many and len(self._means):
            return Task("regression", f"more than {targets.MAX_CLASSES} different values"), True
        values = None if self._n_outputs > 1 else self._values
        return task_of_values(values, self._n_rows, is_indicator=self._indicator)

    def _merge_values(self, values: NDArray[Any], shares: NDArray[Any]) -> None:
        """Add the weights of distinct values, up to a limit of these."""
        if self._values is not None:
            values, at = np.unique(np.concatenate([self._values, values]), return_inverse=True)
            shares = np.bincount(at, np.append(self._shares, shares))
        self._too_many |= len(values) > targets.MAX_CLASSES
        keep = slice(0 if self._too_many else None)
        self._values, self._shares = values[keep], shares[keep]

    def _merge_moments(self, means: Floats, squares: Floats, added: float) -> None:
        """Means and sums of squared deviations of more rows (Chan et al.)."""
        if len(self._means) == 0:
            self._means, self._squares = np.zeros((2, len(means)))
        gap, total = means - self._means, self._total + added
        self._squares = self._squares + squares + gap**2 * (self._total * added / total)
        self._means = self._means + gap * (added / total)
