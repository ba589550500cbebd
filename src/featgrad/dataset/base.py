"""What a search can ask of rows, wherever they are kept.

A `Dataset` answers four questions: `marginals`, what each column explains by itself; `price`, what
each column would add to some models; `cell_moments` of some columns; `sample`, some rows for the
estimates. A `Storage` has the rows: each answer is a sum over blocks of them, so that it only has
to visit its blocks. The moments of all columns (`featgrad.dataset.all_moments`) answer without.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from featgrad._support import Floats, Indices
from featgrad.columns.sums import Standardiser
from featgrad.dataset.splits import Split, parts_of
from featgrad.dataset.sums import (
    CellSums,
    CrossSums,
    Model,
    OutputSums,
    Prices,
    PriceSums,
    RowSums,
    Standards,
    without_columns,
)
from featgrad.math.tasks import Task
from featgrad.moments.cells import Cells, CellShape, Division, OutputMoments, shares_of_classes
from featgrad.moments.rows import StandardisedRows
from featgrad.moments.spectrum import spectrum
from featgrad.moments.sweeps import RowMoments

# Sums of all columns that are taken in one pass: more models than these are priced in turns.
_SUMS_AT_ONCE = 1 << 25

S = TypeVar("S", bound=RowSums)


class RowSample(NamedTuple):
    """Some columns of some rows, for the estimates."""

    columns: StandardisedRows
    outputs: Floats  # centred, shape (rows, outputs)
    weights: Floats  # sum to one
    variance: float  # of the target, over all rows
    task: Task
    folds: Indices  # of each row
    places: Indices  # of each row in the given order
    # Rows that share a label belong together; None where each is independent of the others.
    clusters: Indices | None = None


class Consumer(Protocol):
    """Takes rows batch by batch, and can be stored in between."""

    def add(self, outputs: Floats, weights: Floats, X: Any) -> None:
        """Outputs, weights and columns of some rows."""

    def elsewhere(self) -> Any:
        """Running sums for a batch of rows that is added up in other processes."""

    def take(self, sums: Any) -> None:
        """What they have received of a batch."""


class Dataset(ABC):
    """Columns in random folds of rows, and what is known of them.

    Whatever is done without some folds, is done as if their rows were not there: columns and
    outputs are standardised, and two classes weighted, by the other rows (see `division`).
    """

    n_rows: int
    n_features: int
    n_outputs: int
    n_folds: int
    splits: Sequence[Split]  # which folds are held out, and from which
    held_out_by = "rows"  # what is held out: single rows, "groups" of them, or parts of a "cv"
    task: Task
    filters: tuple[Floats, ...]  # the filter, preceded by those of lower orders
    standardiser: Standardiser  # by all rows; learned by `marginals`
    class_shares: Floats  # of two classes that are to count alike; 1 for other targets
    _preprocess: str
    _standards: Standards

    @abstractmethod
    def marginals(self, divisions: Sequence[Division]) -> list[Prices]:
        """What each column explains by itself in each division."""

    @abstractmethod
    def price(self, models: Sequence[Model]) -> list[Prices]:
        """What each column would add to each model; after the `marginals` of their divisions."""

    @abstractmethod
    def cell_moments(self, columns: Indices) -> Cells:
        """Moments of some columns over each cell; after `marginals`."""

    @abstractmethod
    def sample(self, columns: Indices) -> RowSample:
        """Some columns of all rows, or of not too many."""

    @abstractmethod
    def _outputs_by_cell(self) -> OutputMoments:
        """Sums of the outputs over each cell."""

    @property
    def shape(self) -> CellShape:
        return CellShape(self.n_folds, len(self.class_shares), self.n_outputs)

    @cached_property
    def whole(self) -> Division:
        """All folds, whose outputs have the mean 0 and variance 1."""
        folds, nothing = tuple(range(self.n_folds)), np.zeros(self.n_outputs)
        shares = np.tile(shares_of_classes(self.class_shares), self.n_folds)
        return Division(folds, len(self.class_shares), shares, nothing, nothing + 1)

    def division(self, folds: Sequence[int]) -> Division:
        """Some folds as if there were no others; the first one that is not all takes a visit."""
        return self.whole if len(folds) == self.n_folds else self._outputs_of_cells.division(folds)

    @cached_property
    def _outputs_of_cells(self) -> OutputMoments:
        return self._outputs_by_cell()

    def standard(self, division: Division) -> Standardiser:
        """How columns are standardised in a division; after its `marginals`."""
        return self._standards[division.folds]

    def design_effect(self) -> float:
        """By how much rows that belong together make sums of the target more uncertain.

        The variance of the sum over clusters relative to that over rows that are independent.
        """
        sample = self.sample(np.zeros(1, np.intp))
        if sample.clusters is None:
            return 1.0
        weighted = sample.weights[:, None] * sample.outputs
        together = np.zeros((int(sample.clusters.max()) + 1, weighted.shape[1]))
        np.add.at(together, sample.clusters, weighted)
        excess = float(np.sum(together**2) / np.sum(weighted**2)) - 1
        return max(1.0, 1 + excess * self.n_rows / len(weighted))


class Storage(Dataset):
    """Rows, visited block by block."""

    # Whether many processes add up the rows of a batch, and wait for each other after it.
    is_divided = False
    # An array where sums are taken; None on the host.
    _like: Any = None
    # What `sampling` makes, once it has seen all rows; None before.
    gathered: Any = None

    @abstractmethod
    def visit(self, name: str, start: Callable[[], S]) -> S:
        """Add all blocks of rows to the empty sums that `start` makes."""

    @abstractmethod
    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Hand outputs, weights and rows without missing entries on, at most a batch at a time."""

    def n_batches(self, batch_rows: int) -> int:
        """Batches that `stream` makes of all rows."""
        return max(1, self.n_rows // batch_rows)

    def sampling(self) -> Callable[[], RowSums] | None:
        """Makes what takes the rows of `sample` from a visit; None where `sample` needs none."""
        return None

    def row_moments(self) -> RowMoments | None:
        """All columns of all rows at once, at scale 1; None where they are not in memory."""
        return None

    def marginals(self, divisions: Sequence[Division]) -> list[Prices]:
        models = [without_columns(division) for division in divisions]
        sums = self.visit("marginals", self._price_sums(models, learn=True))
        self._standards = sums.standards()
        return sums.prices(self._standards)

    def price(self, models: Sequence[Model]) -> list[Prices]:
        per_model = self.n_features * (self.n_outputs + 2)
        at_once = max(1, _SUMS_AT_ONCE // per_model)
        prices: list[Prices] = []
        for start in range(0, len(models), at_once):
            sums = self._price_sums(models[start : start + at_once], learn=False)
            prices += self.visit("prices", sums).prices(self._standards)
        return prices

    def cell_moments(self, columns: Indices) -> Cells:
        start = partial(CellSums, self.shape, columns, self.standardiser, self._like)
        return self.visit("moments", start).cells()

    def cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over all rows, shape (features, outputs); learns to standardise."""
        start = partial(CrossSums, self.whole, self.standardiser, self._like)
        sums = self.visit("cross", start).columns
        sums.fetch()
        self.standardiser.learn(sums.linear[:, 0], sums.squared[:, 0])
        return self.standardiser.centred(sums.linear[:, 1:], sums.of_linear[1:])

    def top_eigenvalue(self, columns: Indices) -> float:
        """Of the covariance of some standardised columns."""
        sample = self.sample(columns)
        return spectrum(sample.columns, np.ones(len(columns)), sample.weights).top

    def _outputs_by_cell(self) -> OutputMoments:
        return self.visit("outputs", partial(OutputSums, self.shape)).moments()

    @property
    def _parts_of_cells(self) -> Indices:
        """Cells that no split separates are one part."""
        return np.repeat(parts_of(self.splits, self.n_folds), len(self.class_shares))

    def _standardised(self, X: Any, weights: Floats) -> StandardisedRows:
        # Choosing columns leaves them one after the other, where products take rows.
        X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
        return StandardisedRows.of(X, np.arange(len(weights)), weights, self._preprocess)

    def _price_sums(self, models: Sequence[Model], learn: bool) -> Callable[[], PriceSums]:
        """Makes the sums that prices follow from; with `learn` also how to standardise."""
        return partial(PriceSums, self.n_features, models, self.standardiser, learn, self._like)
