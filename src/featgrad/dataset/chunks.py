"""The state of a selector whose rows come in chunks: bounded, and mergeable.

While all rows can be kept, they are. When they cannot, a random sample stays, and exact sums over
all rows begin: of products of all columns where these are few, of each column with the target
where they are many. How columns are standardised meanwhile is decided at that point, from the rows
seen until then; only sums that began alike can be added.
"""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse

from featgrad import plan
from featgrad._support import Floats, Keys
from featgrad._support.array_api import dense
from featgrad.checks import check_alike
from featgrad.columns.extremes import Fences
from featgrad.columns.sample import KeyedSample, n_entries
from featgrad.columns.sums import Standardiser
from featgrad.dataset.all_moments import FoldMoments
from featgrad.dataset.memory import InMemory
from featgrad.dataset.splits import parts_of, random_splits
from featgrad.dataset.sums import CrossSums, OutputSums, PartMeans, Prices, Rows
from featgrad.math.targets import Encoding, stratified
from featgrad.moments.cells import CellShape, Division


class MarginalSums(CrossSums):
    """Sums over all rows of each column and of outputs that are about standardised."""

    _added = "columns", "products", "noise"

    def __init__(self, division: Division, standardiser: Standardiser) -> None:
        super().__init__(division, standardiser)
        n_outputs = len(division.means)
        self.products, self.noise = np.zeros((2, n_outputs, n_outputs))

    def add(self, rows: Rows) -> None:
        super().add(rows)
        weighted = (rows.weights * self._shares[rows.cells])[:, None] * rows.outputs
        self.products += rows.outputs.T @ weighted
        self.noise += weighted.T @ weighted

    def prices(self) -> Prices:
        """What each column explains by itself, over all rows."""
        sums = self.columns
        total = sums.of_linear[0]
        exact = copy.copy(self._standardiser)
        exact.learn(sums.linear[:, 0] / total, sums.squared[:, 0] / total)
        mean = sums.of_linear[1:] / total
        deviation = np.sqrt(np.maximum(np.diagonal(self.products) / total - mean**2, 1e-300))
        along = exact.centred(sums.linear[:, 1:], sums.of_linear[1:]) / total / deviation
        noise = self.noise / total**2 / np.multiply.outer(deviation, deviation)
        values = np.sum(along**2, axis=1) - np.trace(noise)
        n_outputs = len(mean)
        values = np.where(exact.factor > 0, values, 0.0) / n_outputs
        return Prices(values, np.linalg.eigvalsh(noise) / n_outputs)


class SampledChunks(InMemory):
    """A sample of the rows, with marginals of all rows."""

    exact: Prices

    def marginals(self, divisions: Sequence[Division]) -> list[Prices]:
        """Those of all rows where all folds have a say."""
        found = super().marginals(divisions)
        return [
            self.exact if division is self.whole else prices
            for division, prices in zip(divisions, found, strict=True)
        ]


class FirstScale:
    """What sums are about: columns and outputs, standardised by the first rows."""

    def __init__(self, rows: Rows, preprocess: str, task: str, n_folds: int) -> None:
        self.name, self._task = uuid4().hex, task
        weights = rows.weights / rows.weights.sum()
        # Classes are known by their sign, also where the first rows are all of one.
        self._mean = np.array([0.5]) if task == "binary" else weights @ rows.outputs
        deviation = np.sqrt(weights @ (rows.outputs - self._mean) ** 2)
        self._scale = np.where(deviation > 0, deviation, 1.0)
        n_strata, n_outputs = 2 if task == "binary" else 1, len(self._mean)
        self.shape, self._fill = CellShape(n_folds, n_strata, n_outputs), None
        first = self(rows._replace(weights=weights))
        sums = OutputSums(self.shape)
        sums.add(first)
        # Two classes count alike among the first rows.
        self.division = sums.moments().division(range(n_folds))
        part_of_cell = np.repeat(parts_of(random_splits(n_folds), n_folds), n_strata)
        parts = PartMeans(rows.X.shape[1], part_of_cell)
        parts.add(first)
        self._fill = parts.fill()
        self.standardiser = Standardiser.from_sample(self(rows).X, preprocess)

    def __call__(self, rows: Rows) -> Rows:
        """Rows, by folds so far, with standardised outputs, cells and no missing entries."""
        outputs, classes = stratified((rows.outputs - self._mean) / self._scale, self._task)
        cells = rows.cells.astype(np.intp) * self.shape.n_strata + classes
        X = rows.X if self._fill is None else self._fill(rows.X, cells)
        return rows._replace(outputs=outputs, cells=cells, X=X)


class Accumulated:
    """Rows seen so far, kept as CSR where the first ones were sparse."""

    def __init__(
        self,
        encoding: Encoding,
        n_features: int,
        is_sparse: bool,
        preprocess: str,
        n_folds: int,
        rng: np.random.RandomState,
        fences: Fences | None,
    ) -> None:
        self.fences = fences
        self.encoding, self.n_features, self.is_sparse = encoding, n_features, is_sparse
        self.preprocess, self.n_folds = preprocess, n_folds
        self._rng, self.n_rows, self.has_groups = rng, 0, False
        # Outputs of classes beyond the first take room as well.
        more = 0 if encoding.classes is None else len(encoding.classes) - 1
        self._kept = KeyedSample(plan.KEPT_ENTRIES, partial(n_entries, more=more))
        self.scale: FirstScale | None = None
        self.sums: FoldMoments | MarginalSums | None = None

    def add(self, X: Any, y: Any, weights: Floats, groups: Keys | None = None) -> None:
        """More rows, of positive weights."""
        outputs = self.encoding(y)
        if self.n_rows and self.has_groups != (groups is not None):
            raise ValueError(
                "groups are given for some rows and not for others: pass them in each call of "
                "partial_fit, or in none."
            )
        self.has_groups = groups is not None
        # Each fold gets its share of every chunk, at random, or whole groups.
        shuffled = self.n_rows + self._rng.permutation(len(weights))
        folds = (shuffled if groups is None else groups) % self.n_folds
        keys = self._rng.random_sample(len(weights))
        X = sparse.csr_array(X) if self.is_sparse else dense(X)  # as the first rows
        self._add(Rows(outputs, weights, folds.astype(np.int8), X, keys, groups))

    def merge(self, other: "Accumulated") -> None:
        """The rows that another has seen as well; it stays as it is."""
        names = "n_features", "encoding", "is_sparse", "preprocess", "n_folds", "has_groups"
        check_alike(self, other, names)
        if other.scale is None:
            if other.n_rows:
                self._add(other.rows())
            return
        if self.scale is None:
            self._start_sums(other.scale, self.rows() if self.n_rows else None)
        assert self.scale is not None
        if self.scale.name != other.scale.name:
            raise ValueError(
                "other has standardised columns by its own first rows, so its sums cannot be "
                "added: begin both with shard() of one selector that has seen some rows."
            )
        self.n_rows += other.n_rows
        self._kept.merge(other._kept)
        self.sums.merge(other.sums)  # type: ignore[union-attr, arg-type]

    def shard(self) -> "Accumulated":
        """One without rows whose sums can be added to these."""
        if self.scale is None:
            self._start_sums(self._first_scale(), self.rows())
        assert self.scale is not None
        rng = np.random.RandomState(self._rng.randint(1 << 31))
        columns = self.n_features, self.is_sparse, self.preprocess
        other = Accumulated(self.encoding, *columns, self.n_folds, rng, self.fences)
        other.has_groups = self.has_groups
        other._start_sums(self.scale, None)
        return other

    @property
    def is_complete(self) -> bool:
        return self._kept.is_complete

    def rows(self) -> Rows:
        """A random sample of the rows, or all of them, in the random order of their keys."""
        rows: Rows | None = self._kept.rows()
        if rows is None:
            raise ValueError("No rows of positive weight have been seen: pass some to partial_fit.")
        return rows.take(np.argsort(rows.places, kind="stable"))

    def _add(self, rows: Rows) -> None:
        begins = self.scale is None and not self._kept.fits(rows)
        before = self.rows() if begins and self.n_rows else None
        self.n_rows += len(rows.places)
        self._kept.add(rows, rows.places)
        if begins:
            self._start_sums(self._first_scale(), before)
        if self.scale is not None and self.sums is not None:
            self.sums.add(self.scale(rows))

    def _first_scale(self) -> FirstScale:
        return FirstScale(self.rows(), self.preprocess, self.encoding.task, self.n_folds)

    def _start_sums(self, scale: FirstScale, before: Rows | None) -> None:
        shape, standardiser = scale.shape, scale.standardiser
        if plan.moments_fit(self.n_features, shape.n_outputs, shape.n_folds):
            self.sums = FoldMoments(self.n_features, shape, standardiser)
        else:
            self.sums = MarginalSums(scale.division, standardiser)
        self.scale = scale
        if before is not None:
            self.sums.add(scale(before))
