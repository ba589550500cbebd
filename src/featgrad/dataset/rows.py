"""The order in which rows are visited, and copies of one row.

The estimate is over ordered tuples of distinct rows, so rows are visited in a random order: rows
sorted by the target would not be exchangeable. The order is drawn from what a row holds, not from
where it stands, which makes every result independent of the order of the rows.

Copies of a row (oversampled data, weights written out) are not distinct: a tuple of copies would
bring back the overfitting that distinct rows avoid. They are merged into one row of their common
weight. Rows that agree by chance, as those of a few discrete columns do, are left alone.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.types import Floats, Indices
from featgrad.plan import COPY_ROWS, FEWEST_COPY_ROWS

Hashes = NDArray[np.uint64]

_BLOCK_ENTRIES = 1 << 16
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def distinct_rows(
    X: Any,
    outputs: Floats,
    weights: Floats,
    rng: np.random.RandomState,
    labels: Indices | None = None,
) -> tuple[NDArray[np.intp], Floats]:
    """Rows of positive weight in random order, copies of one label merged, with their weights."""
    rows = np.flatnonzero(weights)
    hashes = _hash(X, outputs, rng)[rows]
    labels = np.zeros(len(rows), np.intp) if labels is None else labels[rows]
    order = np.lexsort((labels, hashes))
    rows, hashes, labels = rows[order], hashes[order], labels[order]
    is_new = np.append(True, hashes[1:] != hashes[:-1])
    if not is_new.all() and are_copies(X, rows[is_new]):
        first = np.flatnonzero(is_new | np.append(True, labels[1:] != labels[:-1]))
        return rows[first], np.add.reduceat(weights[rows], first)
    return rows, weights[rows]


def are_copies(X: Any, distinct: NDArray[np.intp]) -> bool:
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


def _hash(X: Any, outputs: Floats, rng: np.random.RandomState) -> Hashes:
    """A number per row that depends on its entries only; the same for dense and sparse rows."""
    keys = random_keys(rng, X.shape[1])
    output_keys = random_keys(rng, outputs.shape[1])
    of_X = _hash_sparse(X, keys) if sparse.issparse(X) else hash_dense(X, keys)
    total = np.add(of_X, hash_dense(outputs, output_keys))
    # Sums of like terms keep a trace of them in their order; one more mix takes it away.
    return _mixed(_mixed(total))


def random_keys(rng: np.random.RandomState, size: int) -> Hashes:
    """Random odd multipliers."""
    return np.asarray(rng.randint(1 << 32, size=size, dtype=np.uint64) | np.uint64(1))


def hash_dense(X: NDArray[Any], keys: Hashes) -> Hashes:
    hashes = np.empty(X.shape[0], np.uint64)
    step = max(1, _BLOCK_ENTRIES // X.shape[1])
    for start in range(0, X.shape[0], step):
        hashes[start : start + step] = (_bits(X[start : start + step]) * keys).sum(axis=1)
    return hashes


def _hash_sparse(X: Any, keys: Hashes) -> Hashes:
    # One entry more than there are, for the empty rows at the end.
    entries = np.append(_bits(X.data) * keys[X.indices], np.uint64(0))
    hashes = np.add.reduceat(entries, X.indptr[:-1])
    hashes[np.diff(X.indptr) == 0] = 0
    return hashes


def _bits(values: NDArray[Any]) -> Hashes:
    """Bits of the values as doubles, mixed; 0 stays 0, and -0 is 0."""
    return _mixed((values.astype(np.float64) + 0.0).view(np.uint64))


def _mixed(bits: Hashes) -> Hashes:
    mixed = bits * _MIX
    mixed ^= mixed >> _HALF
    mixed *= _MIX
    return mixed
