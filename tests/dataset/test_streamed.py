"""Columns read block by block against the same columns in memory."""

import numpy as np
import pytest
from featgrad.dataset.compressed import CompressedColumns
from scipy import sparse

from featgrad.dataset.streamed import StreamedColumns
from featgrad.readers import Block, open_source

CONTAINERS = [np.asarray, sparse.csr_array]


def skewed(n_rows: int = 2600, n_features: int = 9):
    """Columns of all sorts: normal, heavy-tailed, shifted, mostly zero, constant."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1] = np.exp(2 * X[:, 1])
    X[:, 2] += 50
    X[:, 3:6] *= rng.random((n_rows, 3)) < 0.2
    X[:, 6] = 7
    y = X[:, 0] + X[:, 3] + rng.standard_normal(n_rows)
    y = np.stack([y, y**2], axis=1)
    return X, y, rng.integers(0, 4, n_rows).astype(float)


def both(X, y, weight, block_rows: int, preprocess: str = "zscore", missing: str = "error"):
    """The same rows in the same order, streamed and in memory."""
    source = open_source(
        X, target=y, weight=weight, block_rows=block_rows, dtype="float64", missing="nan"
    )
    rng = np.random.RandomState(0)
    streamed = StreamedColumns(source, "regression", preprocess, missing, rng)
    used = np.flatnonzero(weight)
    rows = used[np.argsort(np.random.RandomState(0).random_sample(len(used)))]
    weights = weight[rows] / weight.sum()
    return streamed, CompressedColumns(X, rows, weights, y[rows] - weights @ y[rows], preprocess)


def groups(n_rows: int) -> list[slice]:
    return [slice(0, n_rows // 3), slice(n_rows // 3, n_rows)]


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("block_rows", [37, 1000, 5000])
def test_cross_is_that_of_rows_in_memory(container, block_rows: int, preprocess: str):
    X, y, weight = skewed()
    streamed, in_memory = both(container(X), y, weight, block_rows, preprocess)
    parts = groups(streamed.n_rows)
    expected = in_memory.cross(parts)
    np.testing.assert_allclose(streamed.cross(parts), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("container", CONTAINERS)
def test_missing_entries_count_as_means_of_rows_in_memory(container):
    X, y, weight = skewed()
    X = np.delete(X, 6, axis=1)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    streamed, in_memory = both(container(X), y, weight, 100, missing="mean")
    parts = groups(streamed.n_rows)
    expected = in_memory.cross(parts)
    np.testing.assert_allclose(streamed.cross(parts), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("n_rows", "block_rows"), [(12, 3), (12, 100), (2600, 60), (2600, 5000)])
def test_folds_are_those_of_rows_in_memory(container, n_rows: int, block_rows: int):
    X, y, weight = (part[:n_rows] for part in skewed())
    streamed, in_memory = both(container(X), y, weight + 1, block_rows)
    chosen = np.array([0, 1, 3, 4, 5])
    spans = [slice(0, 5), slice(5, 8), slice(8, n_rows)]
    for columns in (streamed, in_memory):
        columns.cross(spans)
    found, expected = (c.folds(spans, chosen) for c in (streamed, in_memory))
    for one, other in zip(found, expected, strict=True):
        assert one.n_rows == other.n_rows
        np.testing.assert_allclose(one.weight, other.weight)
        np.testing.assert_allclose(one.squares, other.squares)
        np.testing.assert_allclose(one.cross, other.cross, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(one.covariance(), other.covariance(), rtol=1e-4, atol=1e-6)


def test_rows_that_come_or_go_between_passes_are_noticed():
    X, y, _ = skewed()

    class Growing:
        n_features, feature_names, groups, n_rows, block_rows, skipped = 9, None, None, None, 100, 0
        passes = 0

        def __iter__(self):
            self.passes += 1
            for start in range(0, 100 * (self.passes + 1), 100):
                yield Block(X[start : start + 100], y[start : start + 100])

    columns = StreamedColumns(Growing(), "auto", "zscore", "error", np.random.RandomState(0))
    with pytest.raises(ValueError, match=r"200 rows .* and 300 when it was read again"):
        columns.cross(groups(columns.n_rows))
