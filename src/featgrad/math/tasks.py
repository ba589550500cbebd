"""Which task a target is by its values, and labels that are in an order."""

from collections.abc import Callable
from typing import Any, NamedTuple
from warnings import warn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from featgrad._support.types import Indices
from featgrad.plan import FEW_CLASSES, LEAST_ROWS_PER_CLASS, MANY_CLASSES, MOST_CLASSES


class RowsOf(NamedTuple):
    """Rows of X that can be looked at."""

    X: Callable[[Indices], Any]  # gives some, as an array or a CSR matrix
    used: Indices  # those of positive weight
    keys: NDArray[Any] | None = None  # random numbers, the same for rows that belong together


class Task(str):
    """The name of a task, and why a target is taken for it."""

    reason: str
    may_be_numbers: bool  # whether its classes are whole numbers

    def __new__(
        cls, name: str, reason: str = "as the parameter task says", may_be_numbers: bool = False
    ) -> "Task":
        task = super().__new__(cls, name)
        task.reason, task.may_be_numbers = reason, may_be_numbers
        return task


class Level(str):
    """A label of an ordered category: labels compare in the order in which they were declared."""

    declared: tuple[str, ...]
    rank: int

    def __new__(cls, label: str, declared: tuple[str, ...] = ()) -> "Level":
        level = super().__new__(cls, label)
        level.declared, level.rank = declared, declared.index(label) if declared else 0
        return level

    @classmethod
    def array(cls, labels: Any, declared: tuple[str, ...]) -> NDArray[Any]:
        """Labels of a category as an array; missing ones are None."""
        levels = {label: cls(label, declared) for label in declared}
        return np.array([levels.get(str(label)) for label in labels], dtype=object)

    def __lt__(self, other: Any) -> bool:
        return bool(self.rank < other.rank)

    def __gt__(self, other: Any) -> bool:
        return bool(self.rank > other.rank)


def ordered_labels(y: Any) -> Any:
    """Labels in their declared order where y is an ordered category, anything else as it is."""
    if getattr(y, "ordered", False):  # a pandas.Categorical
        return Level.array(y, tuple(map(str, y.categories)))
    series = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series) and isinstance(series.dtype, nw.Enum):
        return Level.array(series.to_list(), tuple(map(str, series.dtype.categories)))
    return y


def is_ordered(y: NDArray[Any]) -> bool:
    """Whether these are labels of an ordered category."""
    return y.dtype.kind == "O" and y.size > 0 and isinstance(y.flat[0], Level)


def task_of_values(values: NDArray[Any], n_rows: int) -> tuple[Task, bool]:
    """Task of a column with these distinct values, and whether that is certain."""
    count = len(values)
    if is_ordered(values):
        return Task("ordinal", f"{count} ordered categories"), True
    # Two values are two classes, integers or not.
    if count <= 2:
        return Task("binary", "two values"), True
    if values.dtype.kind not in "iuf":
        if count > max(MANY_CLASSES, n_rows // 2):
            warn(
                f"y has {count} classes in {n_rows} rows, nearly one for each: give numbers as "
                "numbers, and check that y is not an identifier.",
                stacklevel=2,
            )
        return Task("multiclass", f"{count} labels"), True
    numbers = values.astype(np.float64) + 0.0  # -0 is 0
    if np.any(numbers != np.round(numbers)):
        return Task("regression", "not all values are whole numbers"), True
    if count > MOST_CLASSES:
        return Task("regression", f"{count} different whole numbers"), True
    if count > max(FEW_CLASSES, n_rows // LEAST_ROWS_PER_CLASS):
        return Task("regression", f"{count} different whole numbers in {n_rows} rows"), True
    first, last = numbers[[0, -1]]
    described = f"{count} whole numbers from {first:.0f} to {last:.0f}"
    has_gaps = last - first >= count
    if has_gaps or count > MANY_CLASSES or first not in (0, 1):
        gaps = ", with gaps" if has_gaps else ""
        return Task("regression", described + gaps), False
    return Task("multiclass", described, may_be_numbers=True), False
