"""Rows of a matrix in memory, in random order and without copies of one row.

The estimate is over ordered tuples of distinct rows, so rows are visited in a random order: rows
sorted by the target would not be exchangeable. Of rows in memory the order is drawn from what a row
holds, not from where it stands, which makes every result independent of the order of the rows. It
is the same for values that differ in their last bits, as those that readers of text make.

Copies of a row (oversampled data, weights written out) are not distinct: a tuple of copies would
bring back the overfitting that distinct rows avoid. They are merged into one row of their common
weight. Rows that agree by chance, as those of a few discrete columns do, are left alone.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from featgrad._support import Floats, Indices
from featgrad._support.array_api import namespace, placed_like, to_numpy
from featgrad.checks import check_weights
from featgrad.columns.extremes import in_range
from featgrad.columns.sums import Fill, Standardiser, has_missing
from featgrad.dataset.base import Consumer, RowSample, S, Storage
from featgrad.dataset.splits import Belonging, FoldLayout, RowRoles
from featgrad.dataset.sums import OutputSums, PartMeans, Rows
from featgrad.math import formulas
from featgrad.math.targets import Target, centre, encode, stratified, to_one_variance
from featgrad.math.tasks import RowsOf, Task
from featgrad.moments.cells import OutputMoments
from featgrad.moments.rows import StandardisedRows
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import COPY_ROWS, ESTIMATE_ROWS_IN_MEMORY, FEWEST_COPY_ROWS, rows_to_price
from featgrad.readers.block import canonical

Hashes = NDArray[np.int64]

# Entries of a dense block, sparse rows are one block; entries that are hashed at once.
_BLOCK_ENTRIES, _HASHED_ENTRIES = 1 << 22, 1 << 16
# Rows that the origins of columns are taken from.
_ORIGIN_ROWS = 1000
_MIX = 0x9E3779B97F4A7C15 - (1 << 64)
_LOW = (1 << 32) - 1
# Half of the last digit of single precision, in bits of a double.
_HALF = 1 << 28


def distinct_rows(
    X: Any,
    outputs: Floats,
    weights: Floats,
    rng: np.random.RandomState,
    labels: Indices | None = None,
) -> tuple[Indices, Floats]:
    """Rows of positive weight in random order, copies of one label merged, with their weights."""
    # Random odd multipliers.
    widths = X.shape[1], outputs.shape[1]
    drawn = (rng.randint(1 << 32, size=width, dtype=np.uint64) for width in widths)
    keys = [(numbers | np.uint64(1)).view(np.int64) for numbers in drawn]
    rows = np.flatnonzero(weights)
    if labels is not None:
        rows = rows[np.argsort(labels[rows], kind="stable")]
    total = _totals(X, outputs, rows, keys, exact=False)
    xp = namespace(total)
    order = xp.argsort(total, stable=True)
    is_new = np.append(True, to_numpy(total[order[1:]] != total[order[:-1]]))
    if not is_new.all():  # which exact values decide
        exact = _totals(X, outputs, rows, keys, exact=True)
        order = xp.argsort(exact, stable=True)
        order = order[xp.argsort(total[order], stable=True)]
        is_new[1:] = to_numpy(exact[order[1:]] != exact[order[:-1]])
    rows = rows[to_numpy(order)]
    if is_new.all() or not are_copies(X, rows[is_new]):
        return rows, weights[rows]
    if labels is not None:
        is_new[1:] |= labels[rows[1:]] != labels[rows[:-1]]
    first = np.flatnonzero(is_new)
    return rows[first], np.add.reduceat(weights[rows], first)


def _totals(X: Any, outputs: Floats, rows: Indices, keys: Sequence[Hashes], *, exact: bool) -> Any:
    """Numbers that order rows by their entries and outputs."""
    hashes, of_outputs = hashes_of(X, keys[0], exact), hashes_of(outputs, keys[1], exact)
    # Sums of like terms keep a trace of them in their order; one more mix takes it away. The signed
    # numbers are in the order of unsigned ones.
    total = (hashes + placed_like(hashes, of_outputs))[placed_like(hashes, rows)]
    return _mixed(_mixed(total)) ^ -(1 << 63)


def are_copies(X: Any, distinct: Indices) -> bool:
    """Whether some column differs in all distinct rows: then none agree by chance."""
    if len(distinct) < FEWEST_COPY_ROWS:
        return False
    values = X[np.sort(distinct[:COPY_ROWS])]
    if sparse.issparse(values):
        # Only a column with one zero at most can differ in all rows.
        stored = np.bincount(values.indices, minlength=values.shape[1])
        values = values[:, np.flatnonzero(stored >= values.shape[0] - 1)].toarray()
    values = np.sort(values, axis=0)
    return bool(np.any(np.all(values[1:] != values[:-1], axis=0)))


def hashes_of(X: Any, keys: Any, exact: bool) -> Any:
    """A number per row that depends on its entries only; the same for dense and sparse rows."""
    if hasattr(X, "hashes"):  # on a device
        return X.hashes(keys, exact)
    if sparse.issparse(X):
        # One entry more than there are, for the empty rows at the end.
        entries = np.append(bits(X.data, exact) * keys[X.indices], np.int64(0))
        found = np.add.reduceat(entries, X.indptr[:-1])
        found[np.diff(X.indptr) == 0] = 0
        return found
    step = max(1, _HASHED_ENTRIES // X.shape[1]) if isinstance(X, np.ndarray) else X.shape[0]
    blocks = gen_batches(X.shape[0], step)
    return namespace(X).concat([(bits(X[rows], exact) * keys).sum(1) for rows in blocks])


def bits(values: Any, exact: bool) -> Any:
    """Bits of the values, mixed, to as many digits as single precision has; 0 stays 0, -0 is 0."""
    xp = namespace(values)
    found = (xp.astype(values, xp.float64) + 0.0).view(xp.int64)
    return _mixed(found if exact else (found + _HALF) & ~(2 * _HALF - 1))


def _mixed(numbers: Any) -> Any:
    """As unsigned numbers are mixed: the shift is made to bring in zeros."""
    mixed = numbers * _MIX
    high = mixed >> 32
    high &= _LOW
    mixed ^= high
    mixed *= _MIX
    return mixed


class Preparation(NamedTuple):
    """The parameters that say what is made of rows before a search."""

    order: int
    filter: str | ArrayLike
    task: str
    preprocess: str
    missing: str
    rng: np.random.RandomState  # the random order of the rows
    n_folds: int
    belonging: Belonging = Belonging()


class Prepared(NamedTuple):
    """Rows of X in the order in which they are visited, their weights, target and formulas."""

    rows: Indices
    weights: Floats
    target: Target
    filters: tuple[Floats, ...]
    layout: FoldLayout

    def row_moments(self, X: Any, preprocess: str) -> RowMoments:
        rows = StandardisedRows.of(X, self.rows, self.weights, preprocess)
        target = self.target
        return RowMoments(rows, target.outputs, self.weights, target.variance, self.filters)


def prepare(X: Any, y: Any, sample_weight: Any, preparation: Preparation) -> Prepared:
    """Encode the target and put the rows into a random order."""
    weights = check_weights(sample_weight, X.shape[0])
    roles = preparation.belonging.roles(y, X.shape[0])
    rows = RowsOf(X.__getitem__, np.flatnonzero(weights), roles.groups)
    raw, task = encode(y, preparation.task, rows)
    return prepare_encoded(X, raw, task, weights, preparation, roles)


def prepare_encoded(
    X: Any, raw: Floats, task: Task, weights: Floats, preparation: Preparation, roles: RowRoles
) -> Prepared:
    """Put the rows into a random order; the target is in output columns."""
    rows, weights = distinct_rows(X, raw, weights, preparation.rng, roles.labels)
    target = centre(raw[rows], task, weights)
    layout = roles.layout(rows, preparation.n_folds, preparation.order)
    return Prepared(rows, weights, target, usable_filters(preparation, len(rows)), layout)


def usable_filters(preparation: Preparation, n_rows: int) -> tuple[Floats, ...]:
    """The filter and those of lower orders, as far as there are rows for its longest tuples."""
    order, filter = formulas.check_order(preparation.order), preparation.filter
    if n_rows < 2:
        raise ValueError(
            f"Found {n_rows} sample(s) of positive weight while a minimum of 2 is required: pass "
            "more rows."
        )
    if order >= n_rows and not isinstance(filter, str):
        raise ValueError(
            f"order={order} needs at least {order + 1} rows of positive weight but X has {n_rows}: "
            "pass more rows or fewer coefficients in filter."
        )
    return formulas.up_to(filter, min(order, n_rows - 1))


class InMemory(Storage):
    """A dense or CSR matrix, whose missing entries count as their column's mean.

    It is the mean of the rows that a row is held out with.
    """

    def __init__(self, X: Any, prepared: Prepared, preprocess: str) -> None:
        self.prepared, self._preprocess = prepared, preprocess
        self.X = canonical(sparse.csr_array(X)) if sparse.issparse(X) else X
        rows, target, layout = prepared.rows, prepared.target, prepared.layout
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self.n_outputs = target.outputs.shape[1]
        self.n_folds, self.splits = layout.n_folds, layout.splits
        self.held_out_by, self.task = layout.held_out_by, target.task
        self.filters = prepared.filters
        # By row of X; rows that are not in use have no weight and belong to no cell.
        self._weights, self._cells = np.zeros(X.shape[0]), np.full(X.shape[0], -1)
        self._outputs = np.zeros((X.shape[0], self.n_outputs))
        self._weights[rows] = prepared.weights
        outputs = to_one_variance(target.outputs, prepared.weights)
        self._outputs[rows], classes = stratified(outputs, self.task)
        # All rows are of one class where no two have to count alike.
        classes = np.broadcast_to(classes, len(rows))
        n_classes = 2 if self.task == "binary" else 1
        shares = np.bincount(classes, prepared.weights, minlength=n_classes)
        self.class_shares = np.asarray(shares, np.float64)
        self._cells[rows] = layout.folds * n_classes + classes
        self._fill: Fill | None = None
        if self._has_missing():
            start = partial(PartMeans, self.n_features, self._parts_of_cells, self._like)
            self._fill = self.visit("missing", start).fill()
        # Rows that are not in use may hold anything.
        first = self._rows(np.sort(rows[:_ORIGIN_ROWS]))
        self.standardiser = Standardiser.from_sample(first, preprocess)

    def with_matrix(self, X: Any) -> "InMemory":
        """Other columns of the same rows, missing where those they are made of are."""
        return InMemory(in_range(X, self._preprocess), self.prepared, self._preprocess)

    def row_moments(self) -> RowMoments:
        return self.prepared.row_moments(self.X, self._preprocess)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        sums = start()
        for rows in self._blocks():
            X = rows.X if self._fill is None else self._fill(rows.X, rows.cells)
            sums.add(rows._replace(X=X))
        return sums

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        for batch in gen_batches(self.n_rows, batch_rows):
            rows = self.prepared.rows[batch]
            weights = self._weights[rows] * self.whole.shares[self._cells[rows]]
            consumer.add(self._outputs[rows], weights, self._rows(rows))

    def sample(self, columns: Indices, to_price: bool = False) -> RowSample:
        """Some columns of all rows, or of some from every fold if they are many.

        Products of all columns are priced with more rows than estimates are made from.
        """
        target, clusters = self.prepared.target, self.prepared.layout.clusters
        chosen = self._sampled(to_price)
        rows, weights = self.prepared.rows[chosen], self.prepared.weights[chosen]
        weights = weights if len(rows) == self.n_rows else weights / weights.sum()
        folds = self._cells[rows] // len(self.class_shares)
        clusters = None if clusters is None else clusters[chosen]
        values = self._standardised(self._columns_of(rows, columns), weights)
        about = target.variance, self.task, folds, rows, clusters
        return RowSample(values, target.outputs[chosen], weights, *about)

    def _outputs_by_cell(self) -> OutputMoments:
        sums = OutputSums(self.shape)
        sums.add(Rows(self._outputs, self._weights, self._cells, None))
        return sums.moments()

    def _has_missing(self) -> bool:
        return has_missing(self.X)

    def _blocks(self) -> Iterator[Rows]:
        """All rows, which may have missing entries."""
        n_rows = self.X.shape[0]
        step = n_rows if sparse.issparse(self.X) else max(1, _BLOCK_ENTRIES // self.n_features)
        for rows in gen_batches(n_rows, step):
            X = self.X if step == n_rows else self.X[rows]
            yield Rows(self._outputs[rows], self._weights[rows], self._cells[rows], X)

    def _rows(self, rows: Indices) -> Any:
        """Some rows on the host, without missing entries."""
        X = self.X[rows]
        return X if self._fill is None else Fill(*map(to_numpy, self._fill))(X, self._cells[rows])

    def _sampled(self, to_price: bool) -> Any:
        """Places in the random order of the rows of a sample."""
        if to_price:
            return slice(None, None, self.n_rows // rows_to_price(self.n_features) or 1)
        return slice(None, None, -(-self.n_rows // ESTIMATE_ROWS_IN_MEMORY))

    def _columns_of(self, rows: Indices, columns: Indices) -> Any:
        """Some columns of some rows, without missing entries."""
        is_sparse = sparse.issparse(self.X)
        X = self.X[:, columns][rows] if is_sparse else self.X[np.ix_(rows, columns)]
        return X if self._fill is None else self._fill.only(columns)(X, self._cells[rows])
