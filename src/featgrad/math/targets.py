"""Targets: encoding of the y of any task as centred output columns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.arrays import Floats
from featgrad.plan import FEW_CLASSES, LEAST_ROWS_PER_CLASS, MANY_CLASSES, ROWS_PER_CLASS

TASKS = ("auto", "regression", "binary", "multiclass", "multilabel", "ordinal")


@dataclass(frozen=True)
class Target:
    """Centred output columns of a target, shape (rows, outputs)."""

    outputs: Floats
    variance: float  # weighted, summed over outputs
    task: str


@dataclass(frozen=True)
class Encoding:
    """Encoding of targets that arrive in chunks as output columns."""

    task: str
    classes: NDArray[Any] | None  # sorted; None for a task without classes
    n_outputs: int  # columns of a target without classes

    @classmethod
    def of(cls, y: Any, task: str, classes: Any = None) -> "Encoding":
        """Encoding of the first chunk, which need not contain all `classes`."""
        y = as_array(y)
        known = None if classes is None else distinct(as_array(classes))
        if task not in TASKS:
            raise ValueError(f"task={task!r} is unknown: use one of {list(TASKS)}.")
        if task == "auto":
            task = infer_task(y if known is None else known)
        if task in WITH_CLASSES:
            known = distinct(one_column(y, task)) if known is None else known
        elif known is not None:
            raise ValueError(
                f"classes={classes!r} are given for task={task!r}, which has none: leave them out."
            )
        return cls(task, known, 1 if y.ndim == 1 else y.shape[1])

    def __call__(self, y: Any) -> Floats:
        """Output columns of y."""
        y = as_array(y)
        if self.classes is not None:
            unseen = np.setdiff1d(distinct(one_column(y, self.task)), self.classes)
            if len(unseen):
                raise ValueError(
                    f"y contains {unseen.tolist()[0]!r}, which is not among the classes "
                    f"{self.classes.tolist()[:20]}: give all classes in the first call, or "
                    "task='regression' if y holds numbers."
                )
        elif y.ndim != 1 and y.shape[1] != self.n_outputs:
            raise ValueError(
                f"y has {y.shape[1]} outputs but had {self.n_outputs} before: give the same ones."
            )
        return self.columns(y)

    def columns(self, y: Any) -> Floats:
        """Output columns of targets that need no check."""
        return _ENCODERS[self.task](as_array(y), self.classes)

    def check_classes(self, classes: Any) -> None:
        """Raise an error for classes that are not those of the first chunk."""
        if self.classes is None or not np.array_equal(np.unique(classes), self.classes):
            known = None if self.classes is None else self.classes.tolist()[:20]
            raise ValueError(
                f"classes={classes!r} are not those of the first call, {known}: leave them out, "
                "or use a new selector."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and (
            self.task == other.task
            and self.n_outputs == other.n_outputs
            and np.array_equal(self.classes, other.classes)  # type: ignore[arg-type]
        )


def encode(y: Any, task: str) -> tuple[Floats, str]:
    """Output columns of y, and its task."""
    encoding = Encoding.of(y, task)
    return encoding.columns(y), encoding.task


def centre(raw: Floats, task: str, weights: Floats) -> Target:
    """Centre output columns under weights that sum to one."""
    means = weights @ raw
    outputs = raw - means
    variance = float(np.sum(weights @ outputs**2))
    check_varies(variance, means)
    return Target(outputs, variance, task)


def to_one_variance(outputs: Floats, weights: Floats) -> Floats:
    """Centred outputs that count alike, whatever their units or however rare their class."""
    deviation = np.sqrt(weights @ outputs**2)
    return np.asarray(outputs / np.where(deviation > 0, deviation, 1.0))


def check_varies(variance: float, means: Floats) -> None:
    """Raise an error for a constant target."""
    if variance <= np.finfo(float).eps ** 2 * max(1.0, float(np.sum(means**2))):
        raise ValueError(
            "y has only one value among the rows of positive weight, or one class only: a target "
            "that does not vary cannot be predicted. Pass rows with different targets."
        )


def infer_task(y: NDArray[Any]) -> str:
    """Strings, booleans and integers with few values are classes, the rest numbers."""
    if y.ndim == 2 and y.shape[1] > 1:
        return "multilabel" if is_indicator(y) else "regression"
    return task_of_values(distinct(y), y.shape[0])


def task_of_values(values: NDArray[Any], n_rows: int) -> str:
    """Task of one column with these distinct values."""
    # Two values are two classes, integers or not.
    if len(values) <= 2:
        return "binary"
    if values.dtype.kind in "iuf":
        integer = values.dtype.kind in "iu" or bool(np.all(values == np.round(values)))
        most = max(FEW_CLASSES, min(MANY_CLASSES, n_rows // LEAST_ROWS_PER_CLASS))
        if not integer or len(values) > max(most, n_rows // ROWS_PER_CLASS):
            return "regression"
    return "multiclass"


def as_array(y: Any) -> NDArray[Any]:
    """Array with one value or one row of outputs per row."""
    if sparse.issparse(y):
        y = y.toarray()
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim not in (1, 2):
        raise ValueError(f"y has {y.ndim} dimensions: give one value or row of outputs per row.")
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y is complex; pass its parts as outputs.")
    return np.asarray(y)


def is_indicator(y: NDArray[Any]) -> bool:
    """Whether all entries are 0 or 1."""
    return y.dtype.kind in "biuf" and bool(np.isin(y, (0, 1)).all())


def _check_finite(y: NDArray[Any]) -> None:
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        kind = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"Input y contains {kind}: drop those rows or fill in their targets.")


def distinct(y: NDArray[Any]) -> NDArray[Any]:
    """The distinct values, sorted."""
    _check_finite(y)
    if y.dtype.kind == "O" and any(value is None or value != value for value in y.ravel()):
        raise ValueError("Input y contains NaN or None: drop those rows or fill in their targets.")
    try:
        return np.unique(y)
    except TypeError:
        message = "y mixes labels that cannot be compared, like strings and numbers: use one type."
        raise ValueError(message) from None


def _regression(y: NDArray[Any], classes: None) -> Floats:
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"y of type {y.dtype} cannot be used with task='regression': convert it to numbers or "
            "choose a classification task."
        ) from None
    _check_finite(values)
    return values.reshape(len(values), -1)


def one_column(y: NDArray[Any], task: str) -> NDArray[Any]:
    """Raise an error for several outputs if the task takes one."""
    if y.ndim != 1:
        raise ValueError(
            f"y has {y.shape[1]} columns but task={task!r} takes one: pass one column, or use "
            "task='multilabel' or 'regression'."
        )
    return y


def _binary(y: NDArray[Any], classes: NDArray[Any]) -> Floats:
    if len(classes) > 2:
        raise ValueError(f"y has {len(classes)} classes but task='binary': use task='multiclass'.")
    return np.asarray(y == classes[-1], dtype=np.float64)[:, None]


def _multiclass(y: NDArray[Any], classes: NDArray[Any]) -> Floats:
    return np.asarray(y[:, None] == classes, dtype=np.float64)


def _ordinal(y: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Cumulative outputs ``1[y > c]`` for every class c but the last."""
    return np.asarray(y[:, None] > classes[:-1], dtype=np.float64)


def _multilabel(y: NDArray[Any], classes: None) -> Floats:
    if y.ndim != 2 or not is_indicator(y):
        raise ValueError(
            "y is not a table of zeros and ones, one column per label, as task='multilabel' needs: "
            "use scikit-learn's MultiLabelBinarizer."
        )
    return y.astype(np.float64)


WITH_CLASSES = ("binary", "multiclass", "ordinal")
_ENCODERS: dict[str, Callable[..., Floats]] = {
    "regression": _regression,
    "binary": _binary,
    "multiclass": _multiclass,
    "ordinal": _ordinal,
    "multilabel": _multilabel,
}
