"""What holds for every table with named columns, whatever it is read from."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from benchmarks.helpers.scale.references import fingerprint
from scipy import sparse

from featgrad import FeatureGradientSelector
from featgrad.readers import frames, open_source
from source_rows import read


def as_csv(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def as_tsv(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "table.tsv.gz", index=False, sep="\t")
    return folder / "table.tsv.gz"


def as_parquet(frame: pd.DataFrame, folder: Path) -> Path:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pa.parquet.write_table(table, folder / "table.parquet", row_group_size=5)
    return folder / "table.parquet"


def as_arrow(frame: pd.DataFrame, folder: Path) -> Path:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pa.feather.write_feather(table, folder / "table.arrow", compression="uncompressed", chunksize=5)
    return folder / "table.arrow"


def as_dictionary(frame: pd.DataFrame, folder: Path) -> Path:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = pa.table({n: c.dictionary_encode() if c.type == "string" else c
                      for n, c in zip(table.column_names, table.columns, strict=True)})  # fmt: skip
    pa.feather.write_feather(table, folder / "table.feather", compression="lz4")
    return folder / "table.feather"


KINDS: dict[str, Callable] = {
    "pandas": lambda frame, folder: frame,
    "pandas-arrow": lambda frame, folder: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame, preserve_index=False),
    "csv": as_csv,
    "tsv.gz": as_tsv,
    "parquet": as_parquet,
    "arrow": as_arrow,
    "dictionary": as_dictionary,
}


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable:
    return lambda frame: KINDS[request.param](frame, tmp_path)


@pytest.fixture(name="frame")
def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.standard_normal(17),
            "town": pd.array(rng.choice(["Ulm", "Köln", "Bonn"], 17), dtype="str"),
            "label": rng.integers(0, 2, 17),
            "b": rng.integers(-5, 5, 17),
        }
    )


@pytest.mark.parametrize("block_rows", [4, 100])
def test_numbers_stay_dense(store, frame, block_rows: int):
    frame = frame.drop(columns="town")
    source = open_source(store(frame), target="label", block_rows=block_rows, dtype="float64")
    assert list(source.feature_names) == ["a", "b"]
    assert source.feature_groups is None
    assert {len(block) for block in source} <= {block_rows, 17 % block_rows}
    rows = read(source)
    np.testing.assert_allclose(rows.X, frame[["a", "b"]].to_numpy(), rtol=1e-14)
    np.testing.assert_array_equal(rows.y, frame["label"])


def test_few_texts_are_one_hot(store, frame):
    source = open_source(store(frame), target="label", block_rows=4, dtype="float64")
    assert list(source.feature_names) == ["a", "town=Bonn", "town=Köln", "town=Ulm", "b"]
    np.testing.assert_array_equal(source.feature_groups, [0, 1, 1, 1, 2])
    rows = read(source)
    np.testing.assert_array_equal(rows.X[:, 1:4], pd.get_dummies(frame["town"]).to_numpy())
    np.testing.assert_allclose(rows.X[:, [0, 4]], frame[["a", "b"]].to_numpy(), rtol=1e-14)


def test_texts_are_hashed_into_their_columns_share(store, frame):
    source = open_source(store(frame), target="label", hash_dim=50)
    assert source.n_features == 52
    assert source.feature_names[7] == "town#6"
    expected = np.zeros((17, 50))
    for row, town in enumerate(frame["town"]):
        expected[row, fingerprint(town.encode()) % 50] = 1
    block = next(iter(source))
    assert sparse.issparse(block.X)
    assert block.X.has_canonical_format
    np.testing.assert_array_equal(block.X.toarray()[:, 1:51], expected)


def test_few_features_of_text_are_stored_dense_with_the_same_values(store, frame):
    few = {f"n{i}": np.arange(17.0) % (i + 2) for i in range(40)}
    frame = frame.assign(**few)
    dense = open_source(store(frame), target="label", hash_dim=12, dtype="float32")
    assert isinstance(next(iter(dense)).X, np.ndarray)
    dense.encoder._is_dense = False
    expected = next(iter(dense)).X.toarray()
    dense.encoder._is_dense = True
    np.testing.assert_array_equal(next(iter(dense)).X, expected)


def test_texts_of_hashed_features_can_be_listed(store, frame):
    source = open_source(store(frame), target="label", hash_dim=2**20)
    heaviest = frame["town"].value_counts()
    bucket = 1 + fingerprint(heaviest.index[0].encode()) % 2**20
    assert source.tokens_of([bucket, 1]) == {bucket: [heaviest.index[0]], 1: []}


def test_missing_text_is_no_feature(store, frame):
    frame.loc[3, "town"] = None
    source = open_source(store(frame), target="label")
    assert read(source).X[3, 1:4].sum() == 0


def test_a_missing_number_raises_is_skipped_or_kept(store, frame):
    frame.loc[3, "a"] = np.nan
    table = store(frame)
    with pytest.raises(ValueError, match=r"(row 4|line 5): a value is missing"):
        read(open_source(table, target="label", missing="error"))
    source = open_source(table, target="label", missing="error", on_bad_rows="skip")
    assert len(read(source).y) == 16
    assert source.skipped == 1
    assert read(open_source(table, target="label", missing="zero")).X[3, 0] == 0
    assert np.isnan(read(open_source(table, target="label", missing="nan")).X[3, 0])


def test_the_target_may_be_text_and_rows_may_have_weights(store, frame):
    frame["a"] = abs(frame["a"])
    rows = read(open_source(store(frame), target="town", weight="a"))
    assert rows.y.tolist() == frame["town"].tolist()
    np.testing.assert_allclose(rows.weight, frame["a"], rtol=1e-14)
    assert rows.X.shape == (17, 2)


def test_numbers_can_be_named_categorical(store, frame):
    source = open_source(store(frame[["b", "label"]]), target="label", categorical=["b"])
    assert set(source.feature_names) == {f"b={value}" for value in frame["b"]}


def test_text_can_be_read_as_numbers(store, frame):
    costs = frame[["town", "label"]].assign(cost=["$1,234.50", "-12", *["7.5"] * 15])
    source = open_source(store(costs), target="label", categorical=["town"])
    column = read(source).X[:, list(source.feature_names).index("cost")]
    assert column.tolist() == [1234.5, -12, *[7.5] * 15]


@pytest.mark.parametrize("argument", ["target", "weight"])
def test_a_column_that_does_not_exist_is_reported_with_the_nearest(store, frame, argument: str):
    options = {"target": "label", argument: "lable"}
    with pytest.raises(ValueError, match=f"{argument}='lable'.*'town'.*the nearest is 'label'"):
        open_source(store(frame), **options)


@pytest.mark.parametrize("target", [None, np.zeros(17)])
def test_a_target_that_is_no_name_is_reported(store, frame, target):
    with pytest.raises(ValueError, match=r"target is .*: name a column of .*'label'"):
        open_source(store(frame), target=target)


def test_identifiers_are_left_out(store):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "many": [f"t{k}" for k in range(1100)],
            "row": np.arange(1, 1101),
            "customer_id": rng.permutation(10_000)[:1100],
            "n": rng.integers(0, 9, 1100),
            "y": np.zeros(1100),
        }
    )
    source = open_source(store(frame), target="y")
    assert list(source.feature_names) == ["n"]
    assert list(source.left_out) == ["many", "row", "customer_id"]
    named = open_source(store(frame), target="y", include=["row", "customer_id"])
    assert list(named.feature_names) == ["row", "customer_id", "n"]
    with pytest.raises(ValueError, match=r"'many' has more than 1,000.*exclude=\['many'\]"):
        open_source(store(frame), target="y", categorical=["many"])
    assert open_source(store(frame), target="y", hash_dim=64).n_features == 65


def test_hash_dim_must_hold_every_column(store, frame):
    with pytest.raises(ValueError, match="hash_dim=1 is too small"):
        open_source(store(frame), target="label", hash_dim=1)


def test_a_table_with_only_a_target_is_an_error(store, frame):
    with pytest.raises(ValueError, match=r"has only its target|only one column was found"):
        open_source(store(frame[["label"]]), target="label")


def test_dates_are_days(store, frame):
    frame = frame[["label"]].assign(day=pd.date_range("2020-01-01 06:00", periods=17, freq="36h"))
    source = open_source(store(frame), target="label", dtype="float64")
    np.testing.assert_allclose(read(source).X[:, 0], 18262.25 + 1.5 * np.arange(17))
    assert source.notes[-1] == "read as numbers, in days: day"


@pytest.mark.parametrize("unit", ["s", "us"])
def test_dates_may_be_of_any_year(store, unit: str):
    # Nanoseconds in 64 bits reach from 1677 to 2262.
    days = np.array(["9999-12-31", "0001-01-01", "1600-02-29T12"] * 2, f"datetime64[{unit}]")
    frame = pd.DataFrame({"label": [0, 1] * 3, "day": days})
    if "0001-01-01" not in frame.to_csv():
        pytest.skip("pandas before 3 writes years before 1000 with fewer digits")
    source = open_source(store(frame), target="label", dtype="float64")
    np.testing.assert_array_equal(read(source).X[:, 0], [2932896, -719162, -135080.5] * 2)


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("ms"), pl.Datetime("us", "UTC")])
def test_missing_dates_are_missing(kind):
    days = pl.Series([date(9999, 12, 31), None, date(1600, 1, 1)]).cast(kind)
    frame = pl.DataFrame({"label": [0, 1, 0], "day": days})
    expected = [2932896, np.nan, -135140]
    for rows in (frame, frame.to_arrow(), frame.to_pandas(use_pyarrow_extension_array=True)):
        source = open_source(rows, target="label", dtype="float64", missing="nan")
        np.testing.assert_array_equal(read(source).X[:, 0], expected)


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.list_(pa.int64(), 2)])
def test_lists_are_refused_by_name_and_can_be_left_out(tmp_path, kind):
    path = tmp_path / "lists.parquet"
    table = pa.table({"x": pa.array([[1, 2], [2, 3]], kind), "n": [3, 4], "y": [0, 1]})
    pa.parquet.write_table(table, path)
    with pytest.raises(ValueError, match=r"'x' holds (List|Array).*exclude=\['x'\]"):
        open_source(path, target="y")
    np.testing.assert_array_equal(read(open_source(path, target="y", exclude=["x"])).X, [[3], [4]])


@pytest.mark.parametrize("place", ["folder", "pattern", "list"])
def test_names_of_folders_hold_columns(tmp_path, place: str):
    # The folder itself is no part of the data.
    root = tmp_path / "run=7"
    table = {"a": [1.0, 2, 3, 4], "year": [2020, 2020, 2021, 2021], "town": ["u", "v", "u", None]}
    table = pa.table({**table, "y": [1.0, 2, 3, 4]})
    pa.parquet.write_to_dataset(table, root, partition_cols=["year", "town"])
    files = sorted(root.rglob("*.parquet"))
    data = {"folder": root, "pattern": f"{root}/year=*/*/*.parquet", "list": files}[place]
    source = open_source(data, target="y")
    assert list(source.feature_names) == ["a", "year", "town=v"]
    expected = [[1, 2020, 0], [2, 2020, 1], [3, 2021, 0], [4, 2021, np.nan]]
    for rows in (read(source), *map(read, source.parts())):
        np.testing.assert_array_equal(rows.X, np.array(expected)[rows.y.astype(int) - 1])
    np.testing.assert_array_equal(read(open_source(data, target="year")).y[:2], 2020)


def test_a_column_of_a_file_takes_precedence_over_the_name_of_its_folder(tmp_path):
    for k in (1, 2):
        (tmp_path / f"k={k}").mkdir()
        table = pa.table({"k": [k + 0.5], "y": [k]})
        pa.parquet.write_table(table, tmp_path / f"k={k}" / "rows.parquet")
    np.testing.assert_array_equal(read(open_source(tmp_path, target="y")).X, [[1.5], [2.5]])


def test_a_column_of_nulls_is_a_missing_number(tmp_path):
    pa.parquet.write_table(pa.table({"a": pa.nulls(2), "y": [0, 1]}), tmp_path / "rows.parquet")
    (tmp_path / "rows.jsonl").write_text('{"a": null, "y": 0}\n{"y": 1}\n')
    for name in ("rows.parquet", "rows.jsonl"):
        source = open_source(tmp_path / name, target="y", missing="nan")
        np.testing.assert_array_equal(read(source).X, [[np.nan], [np.nan]])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([Decimal("1.5"), None, Decimal(2)], [1.5, np.nan, 2]),
        ([1.5, None, 2], [1.5, np.nan, 2]),
        ([True, None, False], [1, np.nan, 0]),
        ([Fraction(1, 2), pd.NA, 10**20], [0.5, np.nan, 1e20]),
        ([date(2020, 1, 1), None, date(1600, 1, 1)], [18262, np.nan, -135140]),
        ([datetime(2020, 1, 1, tzinfo=UTC), None, datetime(2020, 1, 2)], [18262, np.nan, 18263]),
        ([time(12), None, time(6)], [0.5, np.nan, 0.25]),
        ([None, None, None], [np.nan] * 3),
        ([*[None] * 200, 1.5], [*[np.nan] * 200, 1.5]),
    ],
)
def test_objects_are_what_their_types_say(values, expected):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "y": np.arange(len(values)) % 2})
    source = open_source(frame, target="y", missing="nan", dtype="float64")
    np.testing.assert_array_equal(read(source).X[:, 0], expected)


def test_a_frame_of_objects_is_fitted_as_a_source_as_it_is_by_itself():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60, 4)).round(3), columns=list("abcd"))
    y = frame["b"] + rng.standard_normal(60)
    objects = frame.map(lambda v: Decimal(str(v))).assign(a=frame["a"].astype(object))
    by_itself = FeatureGradientSelector(1).fit(objects, y)
    source = open_source(objects.assign(y=y.astype(object)), target="y", dtype="float64")
    as_source = FeatureGradientSelector(1).fit_source(source)
    assert by_itself.get_feature_names_out() == as_source.get_feature_names_out() == ["b"]


def test_columns_of_numbers_are_read_together_next_to_others(monkeypatch):
    frame = pd.DataFrame(np.eye(3), columns=list("abc")).assign(
        o=pd.Series([1, 2, None], dtype=object)
    )
    columns, numbers_in = [], frames.numbers_in
    monkeypatch.setattr(
        frames, "numbers_in", lambda c, *rest: columns.append(c.name) or numbers_in(c, *rest)
    )
    read(open_source(frame, target="a", missing="nan"))
    assert set(columns) == {"o"}


def test_objects_are_looked_at_once_however_many_blocks_there_are(monkeypatch):
    frame = pd.DataFrame({"o": pd.Series([1, 2.5, None], dtype=object), "y": np.arange(3.0)})
    looked, kind_of_objects = [], frames._kind_of_objects
    monkeypatch.setattr(
        frames, "_kind_of_objects", lambda c: looked.append(c) or kind_of_objects(c)
    )
    read(open_source(frame, target="y", missing="nan", block_rows=1))
    assert len(looked) == 1


def test_columns_can_be_left_out(store, frame):
    source = open_source(store(frame), target="label", exclude=["town", "b"])
    assert list(source.feature_names) == ["a"]
    with pytest.raises(ValueError, match=r"exclude='twon' is not a column .* nearest is 'town'"):
        open_source(store(frame), target="label", exclude=["twon"])


def test_integers_beyond_doubles_are_rounded_also_beside_decimals(tmp_path):
    big = 2**53 + 1
    columns = {"n": [big, None], "d": pa.array([1, 2], pa.decimal128(5)), "y": [0.0, 1.0]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    found = read(open_source(tmp_path / "rows.parquet", target="y", missing="nan", dtype="float64"))
    np.testing.assert_array_equal(found.X, [[float(big), 1], [np.nan, 2]])
