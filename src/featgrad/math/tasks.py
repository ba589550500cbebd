"""Which task a target is: by its values and, where these leave it open, by held-out rows.

Forty persons and the days of a month have the same values. Two models that differ in one thing
predict these: the means of the rows with each value are free in the one, and in the other on a
line, in the order of the numbers.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple
from warnings import warn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from featgrad import plan
from featgrad._support import Floats, Indices
from featgrad._support.array_api import dense


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


# Usual scales, from one end to the other; words of one rank are separated by bars.
_SCALES = (
    "very low|vlow, low, mid|med|medium|middle|moderate|average|normal, high, very high|vhigh",
    "tiny|xs|extra small, small|s, mid|medium|m, large|big|l, extra large|huge|xl, xxl",
    "never, rarely|seldom, sometimes|occasionally, often|frequently|usually, always",
    "very poor|very bad|terrible, poor|bad|unacc, fair|acceptable|acc|average|ok, good, "
    "very good|vgood, excellent|premium, ideal",
    "strongly disagree, disagree, neutral|undecided, agree, strongly agree",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "none|no, mild|minor|slight, moderate, severe|major, extreme",
    "first, second, third, fourth, fifth",
)
_NUMBER = re.compile(r"(?<![\d.])-?\d[\d,]*\.?\d*")


def on_a_scale(labels: NDArray[Any]) -> NDArray[Any]:
    """Distinct texts as levels in their usual order: of a scale, of their numbers, of letters."""
    plain = {label: re.sub(r"[\s_-]+", " ", label.strip().lower()) for label in labels.tolist()}
    ranks: dict[str, Any] = {}
    for scale in _SCALES:
        words = {w: i for i, same in enumerate(scale.split(", ")) for w in same.split("|")}
        if words.keys() >= {*plain.values()}:
            ranks = {k: words[word] for k, word in plain.items()}
    numbers = {k: [float(n.replace(",", "")) for n in _NUMBER.findall(k)] for k in plain}
    if not ranks and all(numbers.values()):
        # Below 18 comes before 18 to 24.
        below = ("<", "under", "below", "less", "up to")
        ranks = {k: (n[0], not plain[k].startswith(below), n[1:]) for k, n in numbers.items()}
    if not ranks and (len(plain) <= 2 or all(len(k) == 1 for k in plain)):
        ranks = plain
    order = sorted(ranks, key=ranks.__getitem__)
    if len(order) < len(plain) or any(ranks[a] == ranks[b] for a, b in pairwise(order)):
        raise ValueError(
            f"y holds {list(plain)[:5]}, and task='ordinal' needs their order: give an ordered "
            "category (pandas.Categorical(y, categories=[...], ordered=True)), or numbers."
        )
    return Level.array(order, tuple(order))


def are_texts(labels: NDArray[Any]) -> bool:
    """Whether all are texts without a declared order."""
    return not is_ordered(labels) and all(isinstance(label, str) for label in labels.tolist())


def is_ordered(y: NDArray[Any]) -> bool:
    """Whether these are labels of an ordered category."""
    return y.dtype.kind == "O" and y.size > 0 and isinstance(y.flat[0], Level)


def task_of_values(
    values: NDArray[Any] | None, n_rows: int, *, is_indicator: bool = False
) -> tuple[Task, bool]:
    """Task of a column with these distinct values, or of several, and whether that is certain."""
    if values is None:
        if is_indicator:
            return Task("multilabel", "columns of zeros and ones"), True
        return Task("regression", "columns of numbers"), True
    count = len(values)
    if is_ordered(values):
        return Task("ordinal", f"{count} ordered categories"), True
    # Two values are two classes, integers or not.
    if count <= 2:
        return Task("binary", "two values"), True
    if values.dtype.kind not in "iuf":
        if count > max(plan.MANY_CLASSES, n_rows // 2):
            warn(
                f"y has {count} classes in {n_rows} rows, nearly one for each: give numbers as "
                "numbers, and check that y is not an identifier.",
                stacklevel=2,
            )
        return Task("multiclass", f"{count} labels"), True
    numbers = values.astype(np.float64) + 0.0  # -0 is 0
    if np.any(numbers != np.round(numbers)):
        return Task("regression", "not all values are whole numbers"), True
    if count > plan.MOST_CLASSES:
        return Task("regression", f"{count} different whole numbers"), True
    if count > max(plan.FEW_CLASSES, n_rows // plan.LEAST_ROWS_PER_CLASS):
        return Task("regression", f"{count} different whole numbers in {n_rows} rows"), True
    if np.any(np.diff(numbers) == 0):
        return Task("multiclass", f"{count} whole numbers that differ after 16 digits"), True
    first, last = numbers[[0, -1]]
    described = f"{count} whole numbers from {first:.0f} to {last:.0f}"
    has_gaps = last - first >= count
    if has_gaps or count > plan.MANY_CLASSES or first not in (0, 1):
        gaps = ", with gaps" if has_gaps else ""
        return Task("regression", described + gaps), False
    return Task("multiclass", described, may_be_numbers=True), False


def task_by_rows(guess: Task, y: NDArray[Any], rows: RowsOf) -> Task:
    """Task of whole numbers that are taken for `guess` by their values alone.

    A reading of the target, as classes or as numbers, predicts held-out rows if it is better than
    their shares by more than chance. Of two that do, classes have to be much better, as numbers
    need far fewer parameters; a few values without gaps are classes where these predict at all.
    """
    count = len(rows.used)
    some = rows.used[np.linspace(0, count - 1, min(count, plan.TASK_ROWS)).astype(np.intp)]
    y = y[some].astype(np.float64)
    values, code = np.unique(y, return_inverse=True)
    X = _filled(rows.X(some))
    folds = _folds(X) if rows.keys is None else rows.keys[some] % plan.TASK_FOLDS
    if len(y) < plan.FEWEST_TASK_ROWS or min(len(values), len(np.unique(folds))) < 2:
        reason = f"{guess.reason}; too few rows to compare with the other reading"
        return Task(guess, reason, guess.may_be_numbers)
    none, by_number, by_class, spread, squares = _held_out_losses(X, code, values, folds)
    few = guess == "multiclass" and len(values) <= plan.FEW_CLASSES
    needed = plan.FEW_CLASS_ERRORS if few else plan.TASK_ERRORS
    numbers_do = _predicts(by_number, none, needed)
    numbers_do |= _predicts(squares, spread, needed)
    classes_do = _predicts(by_class, none, plan.TASK_ERRORS)
    if not numbers_do and not classes_do:
        is_open = len(values) > plan.FEW_CLASSES and guess == "multiclass"
        return _found(guess, guess, "neither reading predicts held-out rows", warns=is_open)
    if not classes_do:
        return _found(guess, "regression", "numbers predict held-out rows, classes do not")
    if not numbers_do or few:
        return _found(guess, "multiclass", "classes predict held-out rows")
    left, explained = by_number.mean(), (none - by_class).mean()
    gains = by_number - by_class
    if (
        gains.mean() > plan.CLASS_ADVANTAGE * min(left, explained)
        and _errors(gains) > plan.TASK_ERRORS
    ):
        return _found(guess, "multiclass", "classes predict held-out rows much better than numbers")
    return _found(guess, "regression", "numbers predict held-out rows as well as classes")


def _found(guess: Task, name: str, reason: str, *, warns: bool = False) -> Task:
    """The task; one that the values do not suggest is also a warning."""
    task = Task(name, f"{guess.reason}; {reason}", may_be_numbers=name == "multiclass")
    if task != guess or warns:
        other = {"multiclass": "regression", "regression": "multiclass"}[task]
        warn(
            f"y is taken for task={str(task)!r} ({task.reason}): pass that, or task={other!r}, to "
            "say what it is.",
            stacklevel=2,
        )
    return task


def _predicts(loss: Floats, none: Floats, errors: float) -> bool:
    """Whether losses are lower than without features: by more than chance and a row counts."""
    gains = none - loss
    return bool(gains.sum() > none.mean()) and _errors(gains) > errors


def _errors(gains: Floats) -> float:
    """The mean in standard errors."""
    error = gains.std() / len(gains) ** 0.5
    return float(gains.mean() / error) if error > 0 else 0.0


def _filled(X: Any) -> Any:
    """Missing values as the mean of their column, or as zeros of a sparse matrix."""
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
        X.data[np.isnan(X.data)] = 0
        return X
    missing = np.isnan(X)
    if not missing.any():
        return X
    total = np.where(missing, 0, X).sum(axis=0, dtype=np.float64)
    return np.where(missing, total / np.maximum((~missing).sum(axis=0), 1), X)


@np.errstate(all="ignore")
def _folds(X: Any) -> Indices:
    """A fold for each row, which follows from what the row holds and not from where it stands."""
    order, folds = np.random.RandomState(0).permutation(X.shape[0]), np.empty(X.shape[0], np.intp)
    order = order[np.argsort(X[order] @ np.sin(1.0 + np.arange(X.shape[1])), kind="stable")]
    folds[order] = np.arange(len(order)) % plan.TASK_FOLDS
    return folds


@np.errstate(all="ignore")
def _held_out_losses(X: Any, code: Indices, values: Floats, folds: NDArray[Any]) -> Floats:
    """Losses of held-out rows, shape (5, rows).

    Squared errors of the shares of all values without features, with the reading as numbers and
    with that as classes; then squared errors of the number without features and with them.
    """
    numbers = (values - values.mean()) / values.std()
    if sparse.issparse(X):
        # Of many columns few have entries.
        X = X[:, np.unique(X.indices)]
    losses = np.zeros((5, len(code)))
    for fold in np.unique(folds):
        kept, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        losses[:, held_out] = _losses_of_fold(X, code, numbers, kept, held_out)
    return losses


def _losses_of_fold(
    X: Any, code: Indices, numbers: Floats, kept: Indices, held_out: Indices
) -> list[Floats]:
    """The losses of some rows, whose targets are ``numbers[code]``, by models of the others.

    The models are Gaussian, of the columns that depend most on the target, one for each reading.
    """
    of_kept, count = code[kept], len(kept)
    n_own = np.bincount(of_kept, minlength=len(numbers))
    shares = (n_own + 0.5) / (n_own + 0.5).sum()
    y = numbers[of_kept]
    mean, variance = y.mean(), y.var()
    roots = np.sqrt(np.maximum(n_own, 1))
    places = of_kept, np.arange(count)
    own = sparse.csr_array((1 / roots[of_kept], places), shape=(len(numbers), count))
    X_kept = X[kept]
    columns, centres, deviations = _dependent(X_kept, own, y - mean)

    def standardised(rows: Any) -> Floats:
        return np.asarray((dense(rows[:, columns]) - centres) / deviations)

    inside, outside = standardised(X_kept), standardised(X[held_out])
    slope = (y - mean) @ inside / (count * variance)
    on_a_line, free = np.outer(numbers - mean, slope), (own @ inside) / roots[:, None]
    found = [shares]
    for means, freedom in ((on_a_line, 1), (free, int((n_own > 0).sum()) - 1)):
        slopes, constants = _densities(inside, of_kept, means, freedom)
        found.append(softmax(outside @ slopes + (np.log(shares) - constants), axis=1))
    is_own = np.zeros((len(held_out), len(numbers)))
    is_own[np.arange(len(held_out)), code[held_out]] = 1
    y = numbers[code[held_out]]
    squares = [((is_own - probabilities) ** 2).sum(axis=1) for probabilities in found]
    return [*squares, (y - mean) ** 2, (y - found[1] @ numbers) ** 2]


def _densities(X: Floats, code: Indices, means: Floats, freedom: int) -> tuple[Floats, Floats]:
    """Slopes of the logarithms of densities with these means, and what is taken off them."""
    residuals, count = X - means[code], len(code)
    covariance = residuals.T @ residuals / count
    # What chance alone would add to the means is taken off them.
    chance = freedom * np.trace(covariance) / max(count - freedom - 1, 1)
    means = means * max(0.0, 1 - chance / max(np.sum(means[code] ** 2) / count, 1e-300))
    np.fill_diagonal(covariance, covariance.diagonal() + plan.TASK_RIDGE + X.shape[1] / count)
    slopes = np.asarray(np.linalg.solve(covariance, means.T), np.float64)
    return slopes, np.sum(means * slopes.T, axis=1) / 2


def _dependent(X: Any, own: Any, y: Floats) -> tuple[Indices, Floats, Floats]:
    """Columns that depend most on classes or on numbers, their means and deviations.

    Row c of `own` has the rows of class c, divided by the root of their number; y has mean 0.
    """
    count = len(y)
    means = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if not sparse.issparse(X):
        X = X - means
    around = means if sparse.issparse(X) else 0 * means
    variances = _squares(X) / count - around**2
    valid = np.isfinite(variances) & (variances > 1e-12 * means**2)
    scale = np.where(valid, variances, np.inf)
    by_class = np.where(valid, _squares(own @ X) / count - around**2, 0) / scale
    by_number = np.where(valid, X.T @ y / count, 0) ** 2 / scale
    columns, half = np.arange(len(means)), plan.TASK_COLUMNS // 2
    if len(means) > plan.TASK_COLUMNS:
        columns = np.union1d(*(np.argpartition(-f, half)[:half] for f in (by_class, by_number)))
    columns = columns[valid[columns]]
    return columns, means[columns], np.sqrt(variances[columns])


def _squares(X: Any) -> Floats:
    """Sums of squares of the columns."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=0)).ravel()
    return np.asarray(np.einsum("ij,ij->j", X, X))
