"""Targets: encoding of the y of any task as centred output columns."""

from dataclasses import dataclass
from numbers import Integral, Number
from types import NoneType
from typing import Any, NoReturn
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support import Flags, Floats
from featgrad.math.tasks import (
    Level,
    RowsOf,
    Task,
    are_texts,
    is_ordered,
    on_a_scale,
    task_by_rows,
    task_of_values,
)
from featgrad.options import TASKS

WITH_CLASSES = ("binary", "multiclass", "ordinal")
# Beyond these, neighbouring whole numbers are the same float, and squares of targets overflow.
_EXACT = 2.0**53
# Each class is an output of its own. Most classes, wherever rows are; those from which on there is
# a warning, and then most outputs of rows in memory, where each takes some 100 bytes in a fit.
MAX_CLASSES, _MANY_CLASSES, _MOST_OUTPUTS = 1 << 12, 300, 1 << 26
_LARGEST = 1e100


@dataclass(frozen=True)
class Target:
    """Centred output columns of a target, shape (rows, outputs)."""

    outputs: Floats
    variance: float  # weighted, summed over outputs
    task: Task


@dataclass(frozen=True)
class Encoding:
    """Encoding of targets that arrive in chunks as output columns."""

    task: Task
    classes: NDArray[Any] | None  # sorted; None for a task without classes
    n_outputs: int  # columns of a target without classes

    def __post_init__(self) -> None:
        """Put texts on a scale in order, refuse too many classes and those that are the same."""
        classes = self.classes
        if self.task == "ordinal" and classes is not None and are_texts(classes):
            object.__setattr__(self, "classes", on_a_scale(classes))
        if classes is not None and len(classes) > _MANY_CLASSES:
            if len(classes) > MAX_CLASSES:
                refuse_classes(self.task)
            warn(
                f"y has {len(classes)} classes, and time and memory grow with each of them: join "
                "rare classes, or give task='regression' if they are numbers.",
                stacklevel=2,
            )
        if classes is not None and classes.dtype.kind == "f" and np.max(np.abs(classes)) >= _EXACT:
            raise ValueError(
                f"y holds classes of up to {np.max(np.abs(classes)):.17g} as floating-point "
                "numbers, which are not exact above 2^53: give them as integers or, in a table, as "
                "text such as 'c1'."
            )

    @classmethod
    def of(cls, y: Any, task: str, classes: Any = None, rows: RowsOf | None = None) -> "Encoding":
        """Encoding of the first chunk, which need not contain all `classes`.

        Rows of X help to find the task of whole numbers.
        """
        y, is_auto = as_array(y), task == "auto"
        if task not in TASKS:
            raise ValueError(f"task={task!r} is unknown: use one of {list(TASKS)}.")
        values = None
        if classes is not None and is_ordered(y):
            declared = y.flat[0].declared
            values = Level.array(declared, declared)
        elif classes is not None:
            values = distinct(as_array(classes))
        elif task in WITH_CLASSES or (is_auto and y.ndim == 1):
            values = distinct(one_column(y, task))
        found, is_certain = task if isinstance(task, Task) else Task(task), True
        if is_auto:
            found, is_certain = task_of_values(values, len(y), is_indicator=is_indicator(y))
        if is_auto and classes is not None and found == "regression":
            found = Task("multiclass", "classes are given")
        elif classes is None and not is_certain and rows is not None:
            found = task_by_rows(found, y, rows)
        if found not in WITH_CLASSES and classes is not None:
            raise ValueError(
                f"classes={classes!r} are given for task={found!r}, which has none: leave them out."
            )
        known = values if found in WITH_CLASSES else None
        return cls(found, known, 1 if y.ndim == 1 else y.shape[1])

    def __call__(self, y: Any) -> Floats:
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
        """Output columns of targets whose classes need no check."""
        y, classes = as_array(y), self.classes
        if classes is None:
            if self.task == "regression":
                return _numbers(y)
            if y.ndim != 2 or not is_indicator(y):
                raise ValueError(
                    "y is not a table of zeros and ones, one column per label, as "
                    "task='multilabel' needs: use scikit-learn's MultiLabelBinarizer."
                )
            return np.asarray(y, np.float64)
        if self.task == "binary" and len(classes) > 2:
            message = f"y has {len(classes)} classes but task='binary': use task='multiclass'."
            raise ValueError(message)
        if self.task != "ordinal":
            own = classes if self.task == "multiclass" else classes[-1:]
            return np.asarray(y[:, None] == own, np.float64)
        if is_ordered(classes) and not is_ordered(y):
            y = Level.array(y.tolist(), classes[0].declared)
        # Of classes in an order cumulative outputs, ``1[y > c]`` for every class c but the last.
        return np.asarray(y[:, None] > classes[:-1], np.float64)

    def check_classes(self, classes: Any) -> None:
        if self.classes is None or {*classes} != {*self.classes.tolist()}:
            known = None if self.classes is None else self.classes.tolist()[:20]
            raise ValueError(
                f"classes={classes!r} are not those of the first call, {known}: leave them out, "
                "or use a new selector."
            )

    def __repr__(self) -> str:
        classes = None if self.classes is None else self.classes.tolist()[:20]
        return f"{self.task} with {self.n_outputs} outputs, classes {classes}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and (
            self.task == other.task
            and self.n_outputs == other.n_outputs
            and np.array_equal(self.classes, other.classes)  # type: ignore[arg-type]
        )


def encode(y: Any, task: str, rows: RowsOf | None = None) -> tuple[Floats, Task]:
    """Output columns of y, and its task."""
    encoding = Encoding.of(y, task, rows=rows)
    count = 0 if encoding.classes is None else len(encoding.classes)
    if count > _MANY_CLASSES and count * len(y) > _MOST_OUTPUTS:
        raise ValueError(
            f"y has {count} classes in {len(y)} rows, too many to be kept in memory at once: join "
            "rare classes, or use fit_source, which keeps a block of rows."
        )
    return encoding.columns(y), encoding.task


def refuse_classes(task: str) -> NoReturn:
    raise ValueError(
        f"y has more than {MAX_CLASSES} classes, too many for task={str(task)!r}: use "
        "task='regression' if they are numbers, join rare classes, and check that y is no key."
    )


def centre(raw: Floats, task: Task, weights: Floats) -> Target:
    """Centre output columns under weights that sum to one."""
    means = weights @ raw
    outputs = raw - means
    variance = 0.0 if np.all(raw == raw[0]) else float(np.sum(weights @ outputs**2))
    check_varies(variance, means)
    return Target(outputs, variance, task)


def to_one_variance(outputs: Any, weights: Any) -> Any:
    """Centred outputs that count alike, whatever their units or however rare their class."""
    deviation = (weights @ outputs**2) ** 0.5
    return outputs / (deviation + (deviation == 0))


def stratified(outputs: Any, task: str) -> tuple[Any, Any]:
    """Outputs that are centred, and the class of each row, 0 or 1, where two are to count alike.

    Of two classes outputs become -1 and 1: where both have the same weight, their mean is 0 and
    their variance 1. Other targets are one class, and stay as they are.
    """
    if task != "binary":
        return outputs, 0
    is_second = 1 * (outputs > 0)
    return 2.0 * is_second - 1, is_second[:, 0]


def check_varies(variance: float, means: Floats) -> None:
    if variance <= (64 * np.finfo(float).eps) ** 2 * float(np.sum(means**2)):
        raise ValueError(
            "y has only one value among the rows of positive weight, or one class only: a target "
            "that does not vary cannot be predicted. Pass rows with different targets."
        )


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
    if y.dtype.kind in "MmV":
        raise ValueError(f"y holds {y.dtype}: convert it to numbers, dates to days, say.")
    return _as_numbers(y) if y.dtype.kind == "O" else np.asarray(y)


def _as_numbers(y: NDArray[Any]) -> NDArray[Any]:
    """An array of Python objects as numbers, where they all are; other labels stay."""
    kinds = {type(value) for value in y.flat}
    if kinds and all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds):
        numbers = np.asarray(y.astype(np.float64))
        is_exact = np.max(np.abs(numbers)) < _EXACT
        # As floats, whole numbers of this size may be equal to their neighbours.
        if is_exact or not all(issubclass(kind, Integral) for kind in kinds):
            return numbers
        for kind in (np.int64, np.uint64):
            if np.iinfo(kind).min <= min(y.flat) and max(y.flat) <= np.iinfo(kind).max:
                return y.astype(kind)
        return y if len(set(y.flat)) > len(np.unique(numbers)) else numbers
    known = (str, bytes, Number, NoneType, np.bool_)
    other = next((kind for kind in kinds if not issubclass(kind, known)), None)
    if other is not None and other.__name__ != "NAType":
        raise ValueError(f"y holds objects of type {other.__name__}: give numbers or labels.")
    return y


def is_missing(y: NDArray[Any]) -> Flags:
    """Rows without a target: NaN, None or an empty text, in one output at least."""
    if y.dtype.kind == "f":
        # A sum without NaN has no term that is.
        none = np.isnan(y) if np.isnan(y.sum()) else np.zeros(y.shape, bool)
    elif y.dtype.kind == "U":
        none = y == ""
    elif y.dtype.kind == "O":
        none = np.fromiter(map(_is_none, y.flat), bool, y.size).reshape(y.shape)
    else:
        none = np.zeros(y.shape, bool)
    return np.asarray(none if none.ndim == 1 else none.any(axis=1))


def _is_none(value: Any) -> bool:
    # A comparison with the missing value of pandas is that value.
    return value is None or type(value).__name__ == "NAType" or value == "" or value != value


def is_indicator(y: NDArray[Any]) -> bool:
    """Whether all entries are 0 or 1."""
    return y.dtype.kind in "biuf" and bool(np.isin(y, (0, 1)).all())


def _check_finite(y: NDArray[Any]) -> None:
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        kind = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"Input y contains {kind}: drop those rows or fill in their targets.")
    largest = float(np.max(np.abs(y))) if y.dtype.kind == "f" and y.size else 1.0
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        raise ValueError(f"y holds values of up to {largest:.3g}: rescale it.")


def distinct(y: NDArray[Any]) -> NDArray[Any]:
    """The distinct values, sorted."""
    _check_finite(y)
    if y.dtype.kind == "O" and any(value is None or value != value for value in y.ravel()):
        raise ValueError("Input y contains NaN or None: drop those rows or fill in their targets.")
    try:
        # Of Python objects much faster than sorting all of them.
        return np.array(sorted(set(y.flat)), dtype=object) if y.dtype.kind == "O" else np.unique(y)
    except TypeError:
        message = "y mixes labels that cannot be compared, like strings and numbers: use one type."
        raise ValueError(message) from None


def _numbers(y: NDArray[Any]) -> Floats:
    """A column for each output."""
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
