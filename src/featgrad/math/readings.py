"""Whether whole numbers are classes or numbers: which reading of them predicts held-out rows.

Forty persons and the days of a month have the same values. Two models that differ in one thing
predict these: the means of the rows with each value are free in the one, and in the other on a
line, in the order of the numbers.
"""

from typing import Any, NamedTuple
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.types import Floats, Indices
from featgrad.math.tasks import RowsOf, Task
from featgrad.plan import (
    CLASS_ADVANTAGE,
    FEW_CLASS_ERRORS,
    FEW_CLASSES,
    FEWEST_TASK_ROWS,
    TASK_COLUMNS,
    TASK_ERRORS,
    TASK_FOLDS,
    TASK_RIDGE,
    TASK_ROWS,
)


def task_by_rows(guess: Task, y: NDArray[Any], rows: RowsOf) -> Task:
    """Task of whole numbers that are taken for `guess` by their values alone.

    A reading of the target, as classes or as numbers, predicts held-out rows if it is better than
    their shares by more than chance. Of two that do, classes have to be much better, as numbers
    need far fewer parameters; a few values without gaps are classes where these predict at all.
    """
    count = len(rows.used)
    some = rows.used[np.linspace(0, count - 1, min(count, TASK_ROWS)).astype(np.intp)]
    y = y[some].astype(np.float64)
    values, code = np.unique(y, return_inverse=True)
    X = _filled(rows.X(some))
    folds = _folds(X) if rows.keys is None else rows.keys[some] % TASK_FOLDS
    if len(y) < FEWEST_TASK_ROWS or min(len(values), len(np.unique(folds))) < 2:
        reason = f"{guess.reason}; too few rows to compare with the other reading"
        return Task(guess, reason, guess.may_be_numbers)
    loss = _held_out_losses(X, code, values, folds)
    few = guess == "multiclass" and len(values) <= FEW_CLASSES
    needed = FEW_CLASS_ERRORS if few else TASK_ERRORS
    numbers_do = _predicts(loss.numbers, loss.none, needed)
    numbers_do |= _predicts(loss.squares, loss.spread, needed)
    classes_do = _predicts(loss.classes, loss.none, TASK_ERRORS)
    if not numbers_do and not classes_do:
        is_open = len(values) > FEW_CLASSES and guess == "multiclass"
        return _found(guess, guess, "neither reading predicts held-out rows", warns=is_open)
    if not classes_do:
        return _found(guess, "regression", "numbers predict held-out rows, classes do not")
    if not numbers_do or few:
        return _found(guess, "multiclass", "classes predict held-out rows")
    left, explained = loss.numbers.mean(), (loss.none - loss.classes).mean()
    gains = loss.numbers - loss.classes
    if gains.mean() > CLASS_ADVANTAGE * min(left, explained) and _errors(gains) > TASK_ERRORS:
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


class _Losses(NamedTuple):
    """Losses of held-out rows: squared errors of the shares of all values, and of the number."""

    none: Floats  # without features
    numbers: Floats
    classes: Floats
    spread: Floats  # of the number without features
    squares: Floats  # of the number


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
    folds[order] = np.arange(len(order)) % TASK_FOLDS
    return folds


@np.errstate(all="ignore")
def _held_out_losses(X: Any, code: Indices, values: Floats, folds: NDArray[Any]) -> _Losses:
    numbers = (values - values.mean()) / values.std()
    if sparse.issparse(X):
        # Of many columns few have entries.
        X = X[:, np.unique(X.indices)]
    losses = _Losses(*np.zeros((len(_Losses._fields), len(code))))
    for fold in np.unique(folds):
        kept, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        model = _Models(X[kept], code[kept], numbers)
        for loss, found in zip(losses, model.losses(X[held_out], code[held_out]), strict=True):
            loss[held_out] = found
    return losses


class _Models:
    """Gaussian models of the columns that depend most on the target, one for each reading."""

    def __init__(self, X: Any, code: Indices, numbers: Floats) -> None:
        """Fit them to rows whose targets are ``numbers[code]``."""
        self._numbers, count = numbers, len(code)
        rows = np.bincount(code, minlength=len(numbers))
        self._shares = (rows + 0.5) / (rows + 0.5).sum()
        y = numbers[code]
        self._mean, variance = y.mean(), y.var()
        roots = np.sqrt(np.maximum(rows, 1))
        shape = len(numbers), count
        own = sparse.csr_array((1 / roots[code], (code, np.arange(count))), shape=shape)
        self._columns, self._centres, self._deviations = _dependent(X, own, y - self._mean)
        X = self._standardised(X)
        free = (own @ X) / roots[:, None]
        slope = (y - self._mean) @ X / (count * variance)
        on_a_line = np.outer(numbers - self._mean, slope)
        self._readings = [
            self._scores(X, code, on_a_line, 1),
            self._scores(X, code, free, int((rows > 0).sum()) - 1),
        ]

    def losses(self, X: Any, code: Indices) -> _Losses:
        X, rows = self._standardised(X), np.arange(len(code))
        is_own = np.zeros((len(code), len(self._numbers)))
        is_own[rows, code] = 1
        numbers, classes = (self._probabilities(X, *scores) for scores in self._readings)
        none, by_number, by_class = (
            ((is_own - p) ** 2).sum(axis=1) for p in (self._shares, numbers, classes)
        )
        y = self._numbers[code]
        spread, squares = (y - self._mean) ** 2, (y - numbers @ self._numbers) ** 2
        return _Losses(none, by_number, by_class, spread, squares)

    def _standardised(self, X: Any) -> Floats:
        X = X[:, self._columns]
        X = X.toarray() if sparse.issparse(X) else X
        return np.asarray((X - self._centres) / self._deviations)

    def _scores(
        self, X: Floats, code: Indices, means: Floats, freedom: int
    ) -> tuple[Floats, Floats]:
        """Slopes and constants of the logarithms of densities with these means."""
        residuals, count = X - means[code], len(code)
        covariance = residuals.T @ residuals / count
        # What chance alone would add to the means is taken off them.
        chance = freedom * np.trace(covariance) / max(count - freedom - 1, 1)
        means = means * max(0.0, 1 - chance / max(np.sum(means[code] ** 2) / count, 1e-300))
        np.fill_diagonal(covariance, covariance.diagonal() + TASK_RIDGE + X.shape[1] / count)
        slopes = np.asarray(np.linalg.solve(covariance, means.T), np.float64)
        return slopes, np.log(self._shares) - np.sum(means * slopes.T, axis=1) / 2

    @staticmethod
    def _probabilities(X: Floats, slopes: Floats, constants: Floats) -> Floats:
        scores = X @ slopes + constants
        found = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))


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
    columns, half = np.arange(len(means)), TASK_COLUMNS // 2
    if len(means) > TASK_COLUMNS:
        columns = np.union1d(*(np.argpartition(-f, half)[:half] for f in (by_class, by_number)))
    columns = columns[valid[columns]]
    return columns, means[columns], np.sqrt(variances[columns])


def _squares(X: Any) -> Floats:
    """Sums of squares of the columns."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=0)).ravel()
    return np.asarray(np.einsum("ij,ij->j", X, X))
