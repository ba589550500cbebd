"""The state of a selector whose rows come in chunks: bounded, and mergeable.

While all rows can be kept, they are. When they cannot, a random sample stays, and exact sums over
all rows begin: of products of all columns where these are few, of each column with the target
where they are many. How columns are compressed is decided at that point, from the rows seen until
then; only sums that began alike can be added.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.dataset.accumulated.fold_moments import FoldMoments, MomentColumns, fit_into_memory
from featgrad.dataset.accumulated.group_sums import GroupSums, SampledColumns
from featgrad.dataset.accumulated.kept_rows import KeptRows, Rows
from featgrad.dataset.dealt import N_FOLDS
from featgrad.dataset.prepare import ESTIMATE_ROWS
from featgrad.math.targets import Encoding
from featgrad.preprocess.compression import SAMPLE_ROWS, Compression
from featgrad.preprocess.present_means import present_means

Floats = NDArray[np.float64]


class Beginning:
    """What sums are about: compressed columns and outputs, standardised by the first rows."""

    def __init__(self, rows: Rows, preprocess: str) -> None:
        self.name = uuid4().hex
        weights = rows.weights / rows.weights.sum()
        fill = present_means(rows.X, weights)
        self.compression = Compression(rows.X[:SAMPLE_ROWS], fill, preprocess)
        self.compression.settle(rows.X, weights)
        self._mean = weights @ rows.outputs
        deviation = np.sqrt(weights @ (rows.outputs - self._mean) ** 2)
        self._scale = np.where(deviation > 0, deviation, 1.0)
        self.n_outputs = len(self._mean)

    def outputs(self, raw: Floats) -> Floats:
        return np.asarray((raw - self._mean) / self._scale)


class Accumulated:
    """Rows seen so far.

    Parameters
    ----------
    encoding : Encoding
        How targets become outputs.
    n_features : int
        Columns of each chunk.
    is_sparse : bool
        Whether rows are kept as CSR.
    preprocess : {"zscore", "center"}
        Whether columns are compressed and brought to one variance, or only centred.
    rng : RandomState
        Draws keys and folds of rows.
    """

    def __init__(
        self,
        encoding: Encoding,
        n_features: int,
        is_sparse: bool,
        preprocess: str,
        rng: np.random.RandomState,
    ) -> None:
        self.encoding, self.n_features, self.is_sparse = encoding, n_features, is_sparse
        self.preprocess = preprocess
        self._rng, self._n_rows = rng, 0
        self._kept = KeptRows()
        self._beginning: Beginning | None = None
        self._sums: FoldMoments | GroupSums | None = None

    def add(self, X: Any, y: Any, weights: Floats) -> None:
        """More rows, of positive weights."""
        outputs = self.encoding(y)
        # Each fold gets its share of every chunk, at random.
        folds = (self._n_rows + self._rng.permutation(len(weights))) % N_FOLDS
        keys = self._rng.random_sample(len(weights))
        self._add(Rows(keys, folds.astype(np.int8), self._alike(X), outputs, weights))

    def merge(self, other: Accumulated) -> None:
        """The rows that another has seen as well; it stays as it is."""
        self._check_alike(other)
        if other._beginning is None:
            rows = other._kept.rows()
            if rows is not None:
                self._add(rows)
            return
        if self._beginning is None:
            self._begin(other._beginning, self._kept.rows())
        assert self._beginning is not None
        if self._beginning.name != other._beginning.name:
            raise ValueError(
                "other has decided by its own first rows how columns are compressed, so its sums "
                "cannot be added: begin both with shard() of one selector that has seen some rows."
            )
        self._n_rows += other._n_rows
        self._kept.merge(other._kept)
        self._sums.merge(other._sums)  # type: ignore[union-attr, arg-type]

    def shard(self) -> Accumulated:
        """One without rows whose sums can be added to these."""
        if self._beginning is None:
            self._begin(Beginning(self.rows(), self.preprocess), self.rows())
        assert self._beginning is not None
        rng = np.random.RandomState(self._rng.randint(1 << 31))
        other = Accumulated(self.encoding, self.n_features, self.is_sparse, self.preprocess, rng)
        other._begin(self._beginning, None)
        return other

    def rows(self) -> Rows:
        """A random sample of the rows, or all of them."""
        rows = self._kept.rows()
        if rows is None:
            raise ValueError("No rows of positive weight have been seen: pass some to partial_fit.")
        return rows

    def told_from(self) -> Rows:
        """Rows that tell how much columns explain: all, or not too many of a sample."""
        rows = self.rows()
        return rows if self._kept.complete else rows.take(slice(ESTIMATE_ROWS))

    def is_typical(self) -> bool:
        """Whether sums began with rows like the others."""
        first = self._beginning
        return first is None or first.compression.suits(self.rows().X[:SAMPLE_ROWS])

    def columns(self) -> MomentColumns | SampledColumns | None:
        """All rows as the search for k features sees them; None where all of them are kept."""
        rows = self.rows()
        if self._kept.complete or self._beginning is None:
            return None
        compression = self._beginning.compression
        if isinstance(self._sums, FoldMoments):
            return MomentColumns(
                self._sums, compression, self._beginning.n_outputs, self.preprocess
            )
        assert self._sums is not None
        outputs = self._beginning.outputs(rows.outputs)
        return SampledColumns(self._sums, compression, rows, outputs)

    def _add(self, rows: Rows) -> None:
        self._n_rows += len(rows.keys)
        if self._beginning is None and not self._kept.fit(rows):
            before = self._kept.rows()
            self._kept.add(rows)
            self._begin(Beginning(self.rows(), self.preprocess), before)
        else:
            self._kept.add(rows)
        self._sum_up(rows)

    def _begin(self, beginning: Beginning, before: Rows | None) -> None:
        """Begin sums with all rows so far."""
        few = fit_into_memory(self.n_features, beginning.n_outputs)
        self._sums = (FoldMoments if few else GroupSums)(self.n_features, beginning.n_outputs)
        self._beginning = beginning
        if before is not None:
            self._sum_up(before)

    def _sum_up(self, rows: Rows) -> None:
        if self._beginning is not None and self._sums is not None:
            outputs = self._beginning.outputs(rows.outputs)
            self._sums.add(self._beginning.compression, rows.X, outputs, rows.weights, rows.folds)

    def _alike(self, X: Any) -> Any:
        """Rows in the container of the first ones."""
        if self.is_sparse:
            return sparse.csr_array(X)
        return X.toarray() if sparse.issparse(X) else X

    def _check_alike(self, other: Accumulated) -> None:
        for name in ("n_features", "encoding", "is_sparse", "preprocess"):
            here, there = getattr(self, name), getattr(other, name)
            if here != there:
                raise ValueError(
                    f"other has {name}={there!r} and this selector {here!r}: merge selectors of "
                    "the same features, target, containers and parameters."
                )
