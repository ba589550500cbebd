"""Features constructed of rows that need not fit into memory."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from featgrad import FeatureGradientConstructor, open_source
from featgrad.construct import constructor as module

N_ROWS = 3000
TRUTH = {"x0", "x1 * x2", "x3 * x4"}


@pytest.fixture(scope="module", params=["dense", "missing", "classes"])
def rows(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """A target of a column and two products, as large as the noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 12))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] * X[:, 4]
    y = signal + np.sqrt(3) * rng.standard_normal(N_ROWS)
    if request.param == "missing":
        X[rng.random(X.shape) < 0.01] = np.nan
    return X, (y > 0).astype(int) if request.param == "classes" else y


def constructor(size: Any = 3) -> FeatureGradientConstructor:
    return FeatureGradientConstructor(size, operations="products", random_state=0)


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features are constructed of half of the rows."""
    monkeypatch.setattr(module, "rows_to_price", lambda n_columns: N_ROWS // 2)


def test_a_source_gives_the_products_of_its_rows(rows, few_rows):
    source = open_source(rows[0], target=rows[1], block_rows=700)
    found = constructor("auto").fit_source(source)
    assert set(found.get_feature_names_out()) == TRUTH
    assert f"{N_ROWS} x" in str(found.plan_)
    built = found.transform(rows[0])
    assert built.shape == (N_ROWS, 3)
    assert found.learnability_.interval[0] > 0.2


def test_a_file_has_the_names_of_its_columns(tmp_path, few_rows):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 4))
    columns = {name: X[:, i] for i, name in enumerate("abcd")}
    columns["y"] = columns["a"] * columns["b"] + rng.standard_normal(N_ROWS)
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet", target="y")
    assert constructor(1).fit_source(source).formula_ == "y ~ a * b"


def test_sparse_rows_of_a_source(few_rows):
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, 40), density=0.2, rng=rng, format="csr")
    y = 4 * (X[:, [0]] * X[:, [1]]).toarray().ravel() + 0.1 * rng.standard_normal(N_ROWS)
    found = constructor(1).fit_source(open_source(X, target=y, block_rows=700))
    assert found.get_feature_names_out().tolist() == ["x0 * x1"]


def test_groups_of_a_source_are_held_out_together(rows, few_rows):
    groups = np.arange(N_ROWS) // 4
    source = open_source(rows[0], target=rows[1], groups=groups, block_rows=700)
    assert constructor().fit_source(source).plan_.held_out_by == "groups"


def test_partitions_of_dask_give_the_products_of_their_rows(rows, few_rows):
    da = pytest.importorskip("dask.array")
    X, y = (da.from_array(part, chunks=(700, *part.shape[1:])) for part in rows)
    found = constructor().fit(X, y)
    assert set(found.get_feature_names_out()) == TRUTH
    built = found.transform(X)
    assert built.chunks == (X.chunks[0], (3,))
    np.testing.assert_allclose(built.compute(), found.transform(rows[0]))


def test_rows_have_no_order_where_they_are_read_again(rows):
    source = open_source(rows[0], target=rows[1], block_rows=700)
    with pytest.raises(ValueError, match="takes rows in their order"):
        FeatureGradientConstructor(operations=["lags"]).fit_source(source)


def test_rows_that_cannot_be_read_again_are_refused():
    with pytest.raises(ValueError, match="source is of type ndarray, which cannot be read block"):
        constructor().fit_source(np.ones((3, 2)))
