import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad.readers import Block, convert, open_source
from source_rows import read


def same_rows(one, other) -> None:
    a, b = read(one), read(other)
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    assert (a.weight is None) == (b.weight is None)
    if a.weight is not None:
        np.testing.assert_array_equal(a.weight, b.weight)


@pytest.fixture(name="X")
def matrix() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 8)) * (rng.random((30, 8)) < 0.4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weight", [None, np.arange(30.0)])
@pytest.mark.parametrize("target", [np.arange(30.0), np.array(["a", "bc"] * 15)])
def test_rows_come_back(tmp_path, X, container, dtype: str, weight, target):
    source = open_source(container(X), target=target, weight=weight, dtype=dtype, block_rows=7)
    converted = convert(source, tmp_path / "rows.arrow")
    same_rows(source, converted)
    assert converted.n_rows == 30
    assert next(iter(converted)).X.dtype == dtype


def test_long_indices_are_converted(tmp_path, X):
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    source = open_source(matrix, target=np.arange(30.0))
    same_rows(source, convert(source, tmp_path / "rows.arrow"))


def test_names_and_groups_come_back(tmp_path):
    frame = pd.DataFrame({"a": [1, 2.0], "t": ["x", "y"], "u": ["p", "q"], "y": [0, 1]})
    for hash_dim in (None, 1000):
        source = open_source(frame, target="y", hash_dim=hash_dim)
        converted = convert(source, tmp_path / "rows.arrow")
        same_rows(source, converted)
        assert list(converted.feature_names) == list(source.feature_names)
        np.testing.assert_array_equal(converted.feature_groups, source.feature_groups)


def test_nothing_half_written_is_left(tmp_path, X):
    path = tmp_path / "rows.arrow"
    convert(open_source(X, target=np.zeros(30)), path)
    before = path.read_bytes()
    X[20] = np.nan
    with pytest.raises(ValueError, match="row 21"):
        convert(open_source(X, target=np.zeros(30), block_rows=5, missing="error"), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_source_without_rows_is_reported(tmp_path):
    X = np.full((3, 2), np.nan)
    source = open_source(X, target=np.zeros(3), missing="error", on_bad_rows="skip")
    with pytest.raises(ValueError, match="no rows"):
        convert(source, tmp_path / "rows.arrow")


def test_several_targets_are_reported(tmp_path):
    source = open_source(np.eye(3), target=np.eye(3))
    with pytest.raises(ValueError, match="single target"):
        convert(source, tmp_path / "rows.arrow")


class Named:
    """A source of somebody else's."""

    n_features, feature_names, groups = 2, ["left", "right"], None
    n_rows, block_rows, skipped = None, 2, 0

    def __iter__(self):
        yield Block(np.eye(2, dtype=np.float32), np.zeros(2))


def test_any_source_can_be_converted(tmp_path):
    assert list(convert(Named(), tmp_path / "rows.arrow").feature_names) == ["left", "right"]
