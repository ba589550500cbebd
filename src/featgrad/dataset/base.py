"""What a search can ask of rows, wherever they are kept.

A `Dataset` answers four questions: `marginals`, what each column explains by itself; `price`, what
each column would add to some models; `fold_moments` of some columns; `sample`, some rows for the
estimates. Each answer is a sum over blocks of rows: a home of rows only has to visit its blocks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from featgrad.arrays import Floats, Indices
from featgrad.dataset.checkpoint import Sums
from featgrad.dataset.prepare import build_engine
from featgrad.dataset.row_sums import CrossSums, FoldSums, Model, Prices, PriceSums, RowSums
from featgrad.math.targets import Target
from featgrad.moments.folds import Folds
from featgrad.moments.problem import Problem
from featgrad.moments.spectrum import top_eigenvalue
from featgrad.preprocess.standardise import ColumnSums, Standardiser

# Sums of all columns that are taken in one pass: more models than these are priced in turns.
_SUMS_AT_ONCE = 1 << 25

S = TypeVar("S", bound=RowSums)


class Sample(NamedTuple):
    """Some columns of some rows, for the estimates."""

    problem: Problem  # the rows
    target: Target  # that of all rows
    folds: Indices  # of each row


class Consumer(Sums, Protocol):
    """Takes rows batch by batch, and can be stored in between."""

    def add(self, outputs: Floats, weights: Floats, X: Any) -> None:
        """Outputs, weights and columns of some rows."""

    def elsewhere(self) -> Any:
        """Running sums for a batch of rows that is added up in other processes."""

    def take(self, sums: Any) -> None:
        """What they have received of a batch."""


class Dataset(ABC):
    """Rows of standardised columns and outputs, in random folds."""

    n_rows: int
    n_features: int
    n_outputs: int
    n_folds: int
    task: str
    filters: tuple[Floats, ...]  # the filter, preceded by those of lower orders
    standardiser: Standardiser  # learned by `marginals`
    _preprocess: str
    # Whether many processes add up the rows of a batch, and wait for each other after it.
    is_divided = False

    @abstractmethod
    def visit(self, name: str, start: Callable[[], S]) -> S:
        """Add all blocks of rows to the empty sums that `start` makes."""

    @abstractmethod
    def sample(self, columns: Indices) -> Sample:
        """Some columns of all rows, or of not too many."""

    @abstractmethod
    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Hand outputs, weights and rows without missing entries on, at most a batch at a time."""

    def n_batches(self, batch_rows: int) -> int:
        """Batches that `stream` makes of all rows."""
        return max(1, self.n_rows // batch_rows)

    def sampling(self) -> Callable[[], RowSums] | None:
        """Makes what takes the rows of `sample` from a visit; None where `sample` needs none."""
        return None

    def keep_sample(self, gathered: RowSums) -> None:
        """What such sums have taken."""
        raise NotImplementedError("the rows of a sample need not be gathered here")

    def problem(self) -> Problem | None:
        """All columns of all rows at once, at scale 1; None where they are not in memory."""
        return None

    def marginals(self, shares: Sequence[Floats]) -> list[Prices]:
        """What each column explains by itself, for some shares of the folds (see `Model`)."""
        start = self._price_sums(self._without_columns(shares), learn=True)
        return self.visit("marginals", start).prices()

    def variances(self) -> Floats:
        """Variance of each standardised column, 1 for constant ones; after `marginals`."""
        return self.standardiser.variance

    def price(self, models: Sequence[Model]) -> list[Prices]:
        """What each column would add to each model; after `marginals`."""
        per_model = self.n_features * (self.n_outputs + 2)
        at_once = max(1, _SUMS_AT_ONCE // per_model)
        prices: list[Prices] = []
        for start in range(0, len(models), at_once):
            sums = self._price_sums(models[start : start + at_once], learn=False)
            prices += self.visit("prices", sums).prices()
        return prices

    def fold_moments(self, columns: Indices) -> Folds:
        """Moments of some columns over each fold; after `marginals`."""
        start = partial(FoldSums, self.n_folds, columns, self.standardiser)
        return self.visit("moments", start).folds()

    def cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over all rows, shape (features, outputs); learns to standardise."""
        sums = self._cross_sums()
        self.standardiser.learn(sums.linear[:, 0], sums.squared[:, 0])
        return self.standardiser.centred(sums.linear[:, 1:], sums.of_linear[1:])

    def top_eigenvalue(self, columns: Indices) -> float:
        """Of the covariance of some standardised columns."""
        problem = self.sample(columns).problem
        return top_eigenvalue(problem.engine, np.ones(len(columns)), problem.weights)

    def _sample_of(
        self, X: Any, outputs: Floats, weights: Floats, variance: float, folds: Indices
    ) -> Sample:
        """Rows with centred outputs; the variance of the target is that of all rows."""
        # Choosing columns leaves them one after the other, where engines take rows.
        X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
        engine = build_engine(X, np.arange(len(weights)), weights, self._preprocess)
        problem = Problem(engine, outputs, weights, variance, self.filters, 1.0)
        return Sample(problem, Target(outputs, variance, self.task), folds)

    def _cross_sums(self) -> ColumnSums:
        start = partial(CrossSums, self.n_features, self.n_outputs, self.standardiser)
        return self.visit("cross", start).columns

    def _without_columns(self, shares: Sequence[Floats]) -> list[Model]:
        nothing = np.zeros((self.n_folds, 0, self.n_outputs))
        return [Model(np.zeros(0, np.intp), nothing, share) for share in shares]

    def _price_sums(self, models: Sequence[Model], learn: bool) -> Callable[[], PriceSums]:
        """Makes the sums that prices follow from; with `learn` also how to standardise."""
        shape = self.n_features, self.n_outputs
        return partial(PriceSums, *shape, models, self.standardiser, learn)
