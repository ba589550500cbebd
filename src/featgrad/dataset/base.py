"""What a search can ask of rows, wherever they are kept.

A `Dataset` answers four questions: `marginals`, what each column explains by itself; `price`, what
each column would add to some models; `fold_moments` of some columns; `sample`, some rows for the
estimates. Each answer is a sum over blocks of rows: a home of rows only has to visit its blocks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.stats import chi2

from featgrad.arrays import Floats, Indices
from featgrad.dataset.checkpoint import Group, Sums
from featgrad.math.targets import Target
from featgrad.moments.folds import Folds, GrowingFold
from featgrad.moments.problem import Problem
from featgrad.moments.spectrum import top_eigenvalue
from featgrad.preprocess.standardise import ColumnSums, Standardiser

# Sums of all columns that are taken in one pass: more models than these are priced in turns.
_SUMS_AT_ONCE = 1 << 25


class Rows(NamedTuple):
    """A block of rows: outputs of variance 1, weights that sum to one over all rows, folds.

    Rows that are not in use have no weight and belong to fold -1. Places are those in a random
    order, where rows are not kept.
    """

    outputs: Floats
    weights: Floats
    folds: Indices
    X: Any
    places: Indices | None = None

    def take(self, rows: slice) -> "Rows":
        """A run of the rows."""
        return Rows(self.outputs[rows], self.weights[rows], self.folds[rows], self.X[rows])

    def by_fold(self) -> Iterator[tuple[int, Indices]]:
        """Each fold that occurs, and its rows."""
        for fold in np.unique(self.folds):
            if fold >= 0:
                yield int(fold), np.flatnonzero(self.folds == fold)


class Sample(NamedTuple):
    """Some columns of some rows, for the estimates.

    Attributes
    ----------
    problem : Problem
        The rows.
    target : Target
        That of all rows.
    folds : ndarray of int
        The fold of each row.
    """

    problem: Problem
    target: Target
    folds: Indices


class Consumer(Sums, Protocol):
    """Takes rows batch by batch, and can be stored in between."""

    def add(self, outputs: Floats, weights: Floats, X: Any) -> None:
        """Outputs, weights and columns of some rows."""


class RowSums(Sums, Protocol):
    """Adds up blocks of rows, and can be stored in between."""

    def add(self, rows: Rows) -> None:
        """More rows."""


class Model(NamedTuple):
    """Linear models of the same columns, one for each fold, fitted to rows of other folds.

    Attributes
    ----------
    columns : ndarray of int
        The columns of the models.
    coefficients : ndarray of shape (folds, columns, outputs)
        For standardised columns and outputs.
    shares : ndarray of shape (folds,)
        Weight of each fold among those in use, divided by its weight among all: 0 for folds that
        are left out.
    """

    columns: Indices
    coefficients: Floats
    shares: Floats


class Prices(NamedTuple):
    """What columns would add to a model, at first order, in explained fraction of the target.

    Attributes
    ----------
    values : ndarray of shape (n_features,)
        Squared covariance with the model's residuals, over pairs of distinct rows.
    noise : ndarray
        Eigenvalues of the covariance of a column of noise with the residuals.
    """

    values: Floats
    noise: Floats

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
        quantile = chi2.isf(share, freedom)
        return float(mean * (quantile / freedom - 1))


class Dataset(ABC):
    """Rows of standardised columns and outputs, in random folds.

    Attributes
    ----------
    n_rows, n_features, n_outputs, n_folds : int
        How many there are.
    standardiser : Standardiser
        Learned by `marginals`.
    """

    n_rows: int
    n_features: int
    n_outputs: int
    n_folds: int
    standardiser: Standardiser

    @abstractmethod
    def visit(self, name: str, add: Callable[[Rows], None], sums: Sums) -> None:
        """Call `add`, which changes `sums`, with all blocks of rows."""

    @abstractmethod
    def sample(self, columns: Indices) -> Sample:
        """Some columns of all rows, or of not too many."""

    @abstractmethod
    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Hand outputs, weights and rows without missing entries on, at most a batch at a time."""

    def gather_sample(self) -> RowSums | None:
        """What takes the rows of `sample` from a visit; None where they need not be gathered."""
        return None

    def marginals(self, shares: Sequence[Floats]) -> list[Prices]:
        """What each column explains by itself, for some shares of the folds (see `Model`)."""
        nothing = np.zeros((self.n_folds, 0, self.n_outputs))
        models = [Model(np.zeros(0, np.intp), nothing, share) for share in shares]
        return self._priced(models, "marginals", learn=True)

    def variances(self) -> Floats:
        """Variance of each standardised column, 1 for constant ones; after `marginals`."""
        return self.standardiser.variance

    def price(self, models: Sequence[Model]) -> list[Prices]:
        """What each column would add to each model; after `marginals`."""
        per_model = self.n_features * (self.n_outputs + 2)
        at_once = max(1, _SUMS_AT_ONCE // per_model)
        prices: list[Prices] = []
        for start in range(0, len(models), at_once):
            prices += self._priced(models[start : start + at_once], "prices", learn=False)
        return prices

    def fold_moments(self, columns: Indices) -> Folds:
        """Moments of some columns over each fold; after `marginals`."""
        growing = [GrowingFold() for _ in range(self.n_folds)]

        def add(rows: Rows) -> None:
            values = self.standardiser(rows.X[:, columns], columns)
            for fold, own in rows.by_fold():
                growing[fold].add(values[own], rows.outputs[own], rows.weights[own])

        self.visit("moments", add, Group(growing))
        return Folds([fold.fold() for fold in growing])

    def cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over all rows, shape (features, outputs); learns to standardise."""
        sums = ColumnSums(self.n_features, 1 + self.n_outputs, 1)

        def add(rows: Rows) -> None:
            weights = rows.weights[:, None]
            linear = np.concatenate([weights, weights * rows.outputs], axis=1)
            X = self.standardiser.filled(rows.X)
            sums.add(X, self.standardiser.origin, linear, weights)

        self.visit("cross", add, sums)
        self.standardiser.learn(sums.linear[:, 0], sums.squared[:, 0])
        return self.standardiser.centred(sums.linear[:, 1:], sums.of_linear[1:])

    def top_eigenvalue(self, columns: Indices) -> float:
        """Of the covariance of some standardised columns."""
        problem = self.sample(columns).problem
        return top_eigenvalue(problem.engine, np.ones(len(columns)), problem.weights)

    def _priced(self, models: Sequence[Model], name: str, learn: bool) -> list[Prices]:
        sums = PriceSums(self.n_features, self.n_outputs, models, self.standardiser, learn)
        self.visit(name, sums.add, sums)
        return sums.prices()


class PriceSums:
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
    ) -> None:
        self._models, self._standardiser, self._learn = models, standardiser, learn
        self._union = np.unique(np.concatenate([model.columns for model in models]))
        self._places = [np.searchsorted(self._union, model.columns) for model in models]
        self._n_outputs = n_outputs
        self._columns = ColumnSums(
            n_features, learn + len(models) * (n_outputs + 1), learn + len(models)
        )
        self._noise = np.zeros((len(models), n_outputs, n_outputs))

    def add(self, rows: Rows) -> None:
        values = self._standardiser(rows.X[:, self._union], self._union)
        weights = [rows.weights[:, None]] if self._learn else []
        linear, squared = list(weights), list(weights)
        for i, model in enumerate(self._models):
            residuals = self._residuals(model, values[:, self._places[i]], rows)
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

    def state(self) -> dict[str, Any]:
        return {"noise": self._noise, **self._columns.state()}

    def restore(self, state: Any) -> None:
        arrays = dict(state)
        self._noise = arrays.pop("noise")
        self._columns.restore(arrays)

    @staticmethod
    def _residuals(model: Model, values: Any, rows: Rows) -> Floats:
        """Residuals times the weights of the rows, 0 in folds that are left out."""
        residuals = rows.outputs.copy()
        if len(model.columns):
            for fold, own in rows.by_fold():
                residuals[own] -= values[own] @ model.coefficients[fold].astype(np.float32)
        return np.asarray(residuals * (rows.weights * model.shares[rows.folds])[:, None])
