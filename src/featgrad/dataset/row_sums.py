"""What is added up over rows: each answer to a question about them.

Sums over some rows and over others merge into those of all of them, so that blocks of rows can be
visited one after the other, or by many workers at the same time.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.special import chdtri

from featgrad.arrays import Floats, Indices, Singles
from featgrad.dataset.checkpoint import Arrays, Sums
from featgrad.moments.array_api import namespace
from featgrad.moments.folds import Fold, Folds, make_fold
from featgrad.preprocess.standardise import ArraySums, ColumnSums, Standardiser
from featgrad.readers.block import stacked

if TYPE_CHECKING:  # the compiler behind it takes longer to load than everything else
    from featgrad.moments.running import RunningSums


class Rows(NamedTuple):
    """A block of rows: outputs of variance 1, weights that sum to one over all rows, folds.

    Rows that are not in use have no weight and belong to fold -1. Places are those in a random
    order, or random keys, where not all rows are in memory.
    """

    outputs: Floats
    weights: Floats
    folds: Indices
    X: Any
    places: Any = None

    def take(self, rows: Any) -> "Rows":
        parts: Any = (None if part is None else part[rows] for part in self)
        return Rows(*parts)

    @staticmethod
    def joined(parts: "Sequence[Rows]") -> "Rows":
        return Rows(*(stacked(part) for part in zip(*parts, strict=True)))

    def by_fold(self) -> Iterator[tuple[int, Indices]]:
        """Each fold that occurs, and its rows."""
        for fold in np.unique(self.folds):
            if fold >= 0:
                yield int(fold), np.flatnonzero(self.folds == fold)


class RowSums(Sums, Protocol):
    """Adds up blocks of rows; can be stored in between, and merged with the sums of other rows."""

    def add(self, rows: Rows) -> None:
        """More rows."""

    def merge(self, other: Self) -> None:
        """Rows that other sums have."""


class Model(NamedTuple):
    """Linear models of the same columns, one for each fold, fitted to rows of other folds."""

    columns: Indices
    # For standardised columns and outputs, shape (folds, columns, outputs).
    coefficients: Floats
    # Weight of each fold among those in use, divided by its weight among all: 0 for folds that are
    # left out.
    shares: Floats


class Prices(NamedTuple):
    """What columns would add to a model, at first order, in explained fraction of the target."""

    values: Floats  # squared covariance with the model's residuals, over pairs of distinct rows
    noise: Floats  # eigenvalues of the covariance of a column of noise with the residuals

    def chance(self, rank: int = 1) -> float:
        """What the best of so many columns of noise reaches, or that of another rank.

        Prices of noise are sums of squares weighted by `noise`, less their mean: close to a
        multiple of chi-squared with the same mean and variance (Satterthwaite).
        """
        mean, squares = float(self.noise.sum()), float(np.sum(self.noise**2))
        if squares == 0:
            return 0.0
        freedom = mean**2 / squares
        share = min(0.5, (rank - 0.3) / len(self.values))
        quantile = chdtri(freedom, share)
        return float(mean * (quantile / freedom - 1))


class PriceSums(ArraySums):
    """Products of all columns with the residuals of models.

    For residuals e of a model, with ``e_n`` times the weight of row n, the price of a column is
    ``sum_c (sum_n x_n e_nc)^2 - sum_n x_n^2 sum_c e_nc^2``: no row is paired with itself.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        models: Sequence[Model],
        standardiser: Standardiser,
        learn: bool,
        *,
        zeros: Any = np.zeros,
    ) -> None:
        self._models, self._standardiser, self._learn = models, standardiser, learn
        self._union = np.unique(np.concatenate([model.columns for model in models]))
        self._places = [np.searchsorted(self._union, model.columns) for model in models]
        self._n_outputs = n_outputs
        n_linear, n_squared = learn + len(models) * (n_outputs + 1), learn + len(models)
        self._columns = ColumnSums(n_features, n_linear, n_squared, zeros)
        self._noise = np.zeros((len(models), n_outputs, n_outputs))

    def add(self, rows: Rows) -> None:
        values = self._standardiser(rows.X[:, self._union], self._union)
        weights = [rows.weights[:, None]] if self._learn else []
        linear, squared, folds = list(weights), list(weights), list(rows.by_fold())
        for i, model in enumerate(self._models):
            residuals = self._residuals(model, values.take(self._places[i], axis=1), rows, folds)
            squares = np.sum(residuals**2, axis=1, keepdims=True)
            linear += [residuals, squares]
            squared.append(squares)
            self._noise[i] += residuals.T @ residuals
        self._columns.add(
            self._standardiser.filled(rows.X),
            self._standardiser.origin,
            np.concatenate(linear, axis=1),
            np.concatenate(squared, axis=1),
        )

    def prices(self) -> list[Prices]:
        sums, first = self._columns, int(self._learn)
        if self._learn:
            self._standardiser.learn(sums.linear[:, 0], sums.squared[:, 0])
        prices, width = [], self._n_outputs + 1
        for i in range(len(self._models)):
            span = slice(first + i * width, first + (i + 1) * width)
            linear, of_rows = sums.linear[:, span], sums.of_linear[span]
            along = self._standardiser.centred(linear[:, :-1], of_rows[:-1])
            own = self._standardiser.centred_squares(
                sums.squared[:, [first + i]], linear[:, -1:], of_rows[-1:]
            )
            values = np.sum(along**2, axis=1) - own[:, 0]
            noise = np.linalg.eigvalsh(self._noise[i])
            prices.append(Prices(values / self._n_outputs, noise / self._n_outputs))
        return prices

    def _parts(self) -> dict[str, Any]:
        return {"_columns": self._columns, "_noise": self._noise}

    @staticmethod
    def _residuals(
        model: Model, values: Any, rows: Rows, folds: Sequence[tuple[int, Indices]]
    ) -> Floats:
        """Residuals times the weights of the rows, 0 in folds that are left out."""
        residuals = rows.outputs.copy()
        if len(model.columns):
            # BLAS can set the flag of an invalid value though all of them are finite (NumPy's issue
            # 24067).
            with np.errstate(invalid="ignore"):
                for fold, own in folds:
                    residuals[own] -= values[own] @ model.coefficients[fold].astype(np.float32)
        return np.asarray(residuals * (rows.weights * model.shares[rows.folds])[:, None])


_WAITING = ("waiting", "waiting_outputs", "waiting_weights")
_DONE = ("cross", "squares", "matrix", "weight", "squared_weights")


class GrowingFold:
    """A fold whose rows come in parts; as many as there are columns wait for their C_f."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Singles, Floats, Floats]] = []
        self._n_waiting = 0
        self._done: Fold | None = None

    def add(self, values: Singles, outputs: Floats, weights: Floats) -> None:
        """More standardised rows, their outputs and weights."""
        self._waiting.append((values, outputs, weights))
        self._n_waiting += len(values)
        if self._n_waiting >= values.shape[1]:
            self._done = self.fold()
            self._waiting, self._n_waiting = [], 0

    def merge(self, other: "GrowingFold") -> None:
        """Rows of another part of the same fold; none wait any longer where some have a C_f."""
        if self._done is None and other._done is None:
            for part in other._waiting:
                self.add(*part)
            return
        own, *more = [part.fold() for part in (self, other) if part._waiting or part._done]
        self._done = own.joined(more[0]) if more else own
        self._waiting, self._n_waiting = [], 0

    def fold(self) -> Fold:
        """All rows so far; there is one at least."""
        if not self._waiting:
            assert self._done is not None
            return self._done
        fold = make_fold(*self._together())
        return fold if self._done is None else self._done.joined(fold)

    def state(self) -> Arrays:
        state: dict[str, Any] = {}
        if self._waiting:
            state |= zip(_WAITING, self._together(), strict=True)
        if self._done is not None:
            done = self._done._asdict()
            state |= {name: np.asarray(done[name]) for name in _DONE}
        return state

    def restore(self, state: Arrays) -> None:
        if _WAITING[0] in state:
            values, outputs, weights = (state[name] for name in _WAITING)
            self._waiting, self._n_waiting = [(values, outputs, weights)], len(values)
        if _DONE[0] in state:
            cross, squares, matrix = (state[name] for name in _DONE[:3])
            weight, squared = float(state["weight"]), float(state["squared_weights"])
            self._done = Fold(weight, squared, cross, squares, matrix, is_gram=True)

    def _together(self) -> tuple[Singles, Floats, Floats]:
        values, outputs, weights = map(np.concatenate, zip(*self._waiting, strict=True))
        return values, outputs, weights


class FoldSums(ArraySums):
    """Moments of some columns over each fold."""

    def __init__(self, n_folds: int, columns: Indices, standardiser: Standardiser) -> None:
        self._columns, self._standardiser = columns, standardiser
        self._growing = [GrowingFold() for _ in range(n_folds)]

    def add(self, rows: Rows) -> None:
        values = self._standardiser(rows.X[:, self._columns], self._columns)
        for fold, own in rows.by_fold():
            self._growing[fold].add(values[own], rows.outputs[own], rows.weights[own])

    def folds(self) -> Folds:
        return Folds([fold.fold() for fold in self._growing])

    def _parts(self) -> dict[str, Any]:
        return {str(fold): growing for fold, growing in enumerate(self._growing)}


class CrossSums(ArraySums):
    """``sum_n w_n x_n (1, y_n)`` and ``sum_n w_n x_n^2`` of each column."""

    def __init__(
        self, n_features: int, n_outputs: int, standardiser: Any, zeros: Any = np.zeros
    ) -> None:
        self.columns = ColumnSums(n_features, 1 + n_outputs, 1, zeros)
        self._standardiser = standardiser

    def add(self, rows: Any) -> None:
        weights = rows.weights[:, None]
        linear = namespace(weights).concat([weights, weights * rows.outputs], axis=1)
        X = self._standardiser.filled(rows.X)
        self.columns.add(X, self._standardiser.origin, linear, weights)

    def _parts(self) -> dict[str, Any]:
        return {"columns": self.columns}


class BatchSums:
    """What running sums receive of a batch of rows, added up elsewhere."""

    def __init__(self, running: "RunningSums", standardiser: Standardiser) -> None:
        self.running, self._standardiser = copy.copy(running), standardiser
        self.running.begin()

    def add(self, rows: Rows) -> None:
        self.running.add(self._standardiser.filled(rows.X), rows.outputs, rows.weights)

    def merge(self, other: "BatchSums") -> None:
        self.running.merge(other.running)

    def state(self) -> Arrays:
        return self.running.received()

    def restore(self, state: Arrays) -> None:
        vars(self.running).update(state)
