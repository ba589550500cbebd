import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad.readers import open_source
from source_rows import read


@pytest.fixture(name="X")
def matrix() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((20, 6)) * (rng.random((20, 6)) < 0.5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("block_rows", [1, 8, 20, 100])
def test_blocks_hold_the_rows_in_order(X, container, block_rows: int):
    y, weight = np.arange(20), np.linspace(1, 2, 20)
    source = open_source(
        container(X), target=y, weight=weight, block_rows=block_rows, dtype="float64"
    )
    assert (source.n_rows, source.n_features) == X.shape
    for _ in range(2):
        rows = read(source)
        np.testing.assert_array_equal(rows.X, X)
        np.testing.assert_array_equal(rows.y, y)
        np.testing.assert_array_equal(rows.weight, weight)


def test_sparse_blocks_are_views(X):
    matrix = sparse.csr_array(X)
    for block in open_source(matrix, target=np.zeros(20), block_rows=7, dtype="float64"):
        assert np.shares_memory(block.X.data, matrix.data)


def test_duplicate_entries_are_added_up():
    X = sparse.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 3]), shape=(1, 2))
    block = next(iter(open_source(X, target=[0])))
    assert block.X.has_canonical_format
    np.testing.assert_array_equal(block.X.toarray(), [[4, 3]])


def test_npy_files_are_mapped(tmp_path, X):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", np.arange(20))
    source = open_source(tmp_path / "X.npy", target=tmp_path / "y.npy", dtype="float64")
    np.testing.assert_array_equal(read(source).X, X)
    np.testing.assert_array_equal(read(source).y, np.arange(20))


def test_pickled_arrays_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(ValueError, match=r"X\.npy cannot be read"):
        open_source(tmp_path / "X.npy", target=[0])


def test_a_cut_npy_file_is_reported(tmp_path, X):
    path = tmp_path / "X.npy"
    np.save(path, X)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"X\.npy cannot be read"):
        open_source(path, target=np.zeros(20))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("value", "reason"), [(np.nan, "missing"), (np.inf, "infinite"), (1e39, "infinite")]
)
def test_rows_with_unusable_values_raise_or_are_skipped(X, container, value: float, reason: str):
    X[9, 2] = value
    with pytest.raises(ValueError, match=f"the array, row 10: a value is {reason}"):
        read(open_source(container(X), target=np.zeros(20), block_rows=4, missing="error"))
    options = {"block_rows": 4, "missing": "error", "on_bad_rows": "skip"}
    source = open_source(container(X), target=np.arange(20), **options)
    rows = read(source)
    assert source.skipped == 1
    assert source.n_rows is None
    np.testing.assert_array_equal(rows.y, np.delete(np.arange(20), 9))
    np.testing.assert_allclose(rows.X, np.delete(X, 9, axis=0), rtol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("missing", "expected"), [("nan", np.nan), ("zero", 0)])
def test_missing_values_are_kept_on_request(X, container, missing: str, expected: float):
    X[3, 1] = np.nan
    rows = read(open_source(container(X), target=np.zeros(20), missing=missing))
    np.testing.assert_equal(rows.X[3, 1], np.float32(expected))


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, ""])
def test_rows_without_a_target_are_left_out(X, missing):
    y = np.arange(20).astype(str if isinstance(missing, str) else object)
    y[4] = missing
    source = open_source(X, target=y, dtype="float64")
    np.testing.assert_array_equal(read(source).X, np.delete(X, 4, axis=0))
    assert source.notes == ["left out: 1 row without a target"]


def test_skipped_rows_leave_full_blocks(X):
    X[[0, 5, 6]] = np.nan
    source = open_source(X, target=np.arange(20), block_rows=5, missing="error", on_bad_rows="skip")
    assert [len(block) for block in source] == [5, 5, 5, 2]


@pytest.mark.parametrize(
    ("X", "y", "reason"),
    [
        (np.zeros(3), np.zeros(3), "shape"),
        (np.zeros((3, 0)), np.zeros(3), "shape"),
        (np.zeros((3, 2)), np.zeros(4), "there are 3 rows"),
        (np.zeros((3, 2)), None, "target=None"),
        (np.array([["a"]]), np.zeros(1), "real numbers"),
        (np.zeros((3, 2), complex), np.zeros(3), "real numbers"),
    ],
)
def test_unfit_arrays_are_reported(X, y, reason: str):
    with pytest.raises(ValueError, match=reason):
        open_source(X, target=y)


def test_labels_of_text_stay_text(X):
    rows = read(open_source(X, target=np.array(["a", "b"] * 10, dtype=object)))
    assert rows.y.dtype.kind == "U"


def test_names_of_an_array_are_as_many_as_its_columns():
    X, y = np.eye(3), [0, 1, 1]
    assert open_source(X, target=y, names=["a", "b", "c"]).feature_names == ["a", "b", "c"]
    with pytest.raises(ValueError, match="names are 2, but the array has 3 features"):
        open_source(X, target=y, names=["a", "b"])
