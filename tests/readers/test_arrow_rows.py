import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from featgrad.readers import open_source
from source_rows import read

METADATA = {"featgrad": json.dumps({"n_features": 4, "features": None})}


def save(path, columns: dict, metadata=METADATA, batches: int = 1):
    table = pa.table(columns, metadata=metadata)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
        return path
    with pa.ipc.new_file(str(path), table.schema) as writer:
        for batch in table.to_batches(max_chunksize=-(-len(table) // batches)):
            writer.write_batch(batch)
    return path


def lists(rows, kind) -> pa.Array:
    return pa.array(rows, type=pa.list_(kind))


IDX = [[0, 3], [], [1], [0, 1, 2]]
VAL = [[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]]
X = np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 0, 0], [4, 5, 6, 0]], float)


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
@pytest.mark.parametrize("index", [pa.int32(), pa.int64(), pa.uint16()])
def test_lists_are_rows(tmp_path, suffix: str, index):
    columns = {"idx": lists(IDX, index), "val": lists(VAL, pa.float32()), "y": [1, 0, 1, 0]}
    path = save(tmp_path / f"rows{suffix}", columns, batches=2)
    source = open_source(path, block_rows=3)
    assert (source.n_rows, source.n_features) == X.shape
    np.testing.assert_array_equal(read(source).X, X)
    np.testing.assert_array_equal(read(source).y, [1, 0, 1, 0])


def test_blocks_are_views_of_the_mapped_file(tmp_path):
    columns = {"idx": lists(IDX, pa.int32()), "val": lists(VAL, pa.float32()), "y": [1.0] * 4}
    path = save(tmp_path / "rows.arrow", columns)
    for block in open_source(path, block_rows=2):
        for values in (block.X.data, block.X.indices):
            assert not values.flags.owndata
            assert not values.flags.writeable


def test_fixed_lists_are_dense_rows(tmp_path):
    x = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel(), pa.float32()), 4)
    path = save(tmp_path / "rows.arrow", {"x": x, "y": ["a", "b", "a", "b"]}, batches=2)
    source = open_source(path, block_rows=1)
    np.testing.assert_array_equal(read(source).X, X)
    assert read(source).y.tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("idx", "val", "reason"),
    [
        ([0, 9], [1.0, 2.0], "indices must be|column index"),
        ([-1, 0], [1.0, 2.0], "indices must be|column index"),
        ([0, 1], [1.0], "lists of one length"),
        ([0, None], [1.0, 2.0], "a list is missing, or an entry"),
        ([0, 1], [1.0, None], "a list is missing, or an entry"),
        (None, [], "a list is missing, or an entry"),
    ],
)
@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_a_damaged_list_makes_the_file_unreadable(tmp_path, idx, val, reason: str, suffix: str):
    columns = {
        "idx": lists([*IDX[:2], idx, *IDX[2:]], pa.int32()),
        "val": lists([*VAL[:2], val, *VAL[2:]], pa.float32()),
        "y": pa.array([1, 0, 1, 1, 0], pa.float64()),
    }
    path = save(tmp_path / f"rows{suffix}", columns)
    with pytest.raises(ValueError, match=rf"rows{suffix} cannot be read: .*{reason}"):
        read(open_source(path))


def test_entries_need_no_order(tmp_path):
    columns = {"idx": lists([[2, 0, 2]], pa.int32()), "val": lists([[1.0, 2, 4]], pa.float32())}
    source = open_source(save(tmp_path / "rows.arrow", columns | {"y": [1.0]}))
    block = next(iter(source))
    assert block.X.has_canonical_format
    np.testing.assert_array_equal(block.X.toarray(), [[2, 0, 5, 0]])


@pytest.mark.parametrize(
    ("val", "y", "reason"),
    [
        (np.nan, 1, "a value is missing"),
        (np.inf, 1, "a value is infinite"),
        (1.0, np.inf, "the target is infinite"),
    ],
)
@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_a_bad_row_raises_or_is_skipped(tmp_path, val, y, reason: str, suffix: str):
    columns = {
        "idx": lists([*IDX[:2], [0], *IDX[2:]], pa.int32()),
        "val": lists([*VAL[:2], [val], *VAL[2:]], pa.float32()),
        "y": pa.array([1, 0, y, 1, 0], pa.float64()),
    }
    path = save(tmp_path / f"rows{suffix}", columns)
    with pytest.raises(ValueError, match=rf"rows{suffix}, row 3: .*{reason}"):
        read(open_source(path, missing="error"))
    source = open_source(path, missing="error", on_bad_rows="skip")
    np.testing.assert_array_equal(read(source).X, X)
    assert source.skipped == 1


@pytest.mark.parametrize(
    "described",
    [
        "nonsense",
        "{}",
        json.dumps({"n_features": 2**40, "features": None}),
        json.dumps({"n_features": -1, "features": None}),
        json.dumps({"n_features": 4, "features": [1]}),
        json.dumps({"n_features": 4, "features": [{"name": "a"}]}),
        json.dumps(
            {"n_features": 4,
             "features": [{"name": "a", "kind": "hash", "width": -4, "values": []}]}
        ),
        json.dumps(
            {"n_features": 4,
             "features": [{"name": "a", "kind": "number", "width": 1, "values": []}]}
        ),
        "[" * 100_000,
    ],
)  # fmt: skip
def test_damaged_metadata_is_reported(tmp_path, described: str):
    columns = {"idx": lists(IDX, pa.int32()), "val": lists(VAL, pa.float32()), "y": [1.0] * 4}
    path = save(tmp_path / "rows.arrow", columns, {"featgrad": described})
    with pytest.raises(ValueError, match=r"rows\.arrow"):
        open_source(path)


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
@pytest.mark.parametrize("left", [0, 5, 200, -1])
def test_a_cut_file_is_reported(tmp_path, suffix: str, left: int):
    columns = {"idx": lists(IDX, pa.int32()), "val": lists(VAL, pa.float32()), "y": [1.0] * 4}
    path = save(tmp_path / f"rows{suffix}", columns)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(ValueError, match=rf"rows{suffix} cannot be read"):
        open_source(path)


def test_lists_of_text_are_reported(tmp_path):
    columns = {"idx": lists([["a"]], pa.string()), "val": lists([[1.0]], pa.float32()), "y": [1]}
    with pytest.raises(ValueError, match="cannot be read"):
        read(open_source(save(tmp_path / "rows.arrow", columns)))


def test_lists_that_convert_did_not_write_are_a_table(tmp_path):
    columns = {"idx": lists(IDX, pa.int32()), "val": lists(VAL, pa.float32()), "y": [1.0] * 4}
    path = save(tmp_path / "rows.arrow", columns, metadata=None)
    with pytest.raises(ValueError, match=r"'idx' holds List"):
        open_source(path, target="y")
