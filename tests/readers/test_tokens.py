"""What columns of text are taken for, wherever they come from."""

from datetime import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from featgrad import open_source
from featgrad.readers.tokens import Tokens, kinds_of
from source_rows import first_features, read

N_ROWS = 40
DAYS = pd.date_range("2021-01-02", periods=N_ROWS, freq="5D")
SINCE_1970 = (DAYS - pd.Timestamp(0)) / pd.Timedelta(1, "D")
COUNTS = np.arange(1, N_ROWS + 1)


def numbered(template: str) -> list[str]:
    return [template.format(i) for i in COUNTS]


# How a column is written, the numbers that it stands for, its kind, and what is said of it.
COLUMNS = {
    "iso": (DAYS.strftime("%Y-%m-%d"), SINCE_1970, "date", None),
    "slashes": (DAYS.strftime("%Y/%m/%d"), SINCE_1970, "date", None),
    "german": (DAYS.strftime("%d.%m.%Y"), SINCE_1970, "date", "dates, day first"),
    "american": (DAYS.strftime("%m/%d/%Y"), SINCE_1970, "date", "dates, month first"),
    "british": (DAYS.strftime("%d/%m/%y"), SINCE_1970, "date", "dates, day first"),
    "named": (DAYS.strftime("%d-%b-%Y"), SINCE_1970, "date", None),
    "spelled": (DAYS.strftime("%B %d, %Y 06:00 pm"), SINCE_1970 + 0.75, "date", None),
    "weekday": (DAYS.strftime("%a, %d %b %Y 06:00:00 GMT"), SINCE_1970 + 0.25, "date", None),
    "zoned": (DAYS.strftime("%m/%d/%Y 06:00+01:00"), SINCE_1970 + 5 / 24, "date", "dates, month"),
    "compact_date": (DAYS.strftime("%Y%m%d"), SINCE_1970, "date", "dates without signs"),
    "open": (["04/05/2021", "05/06/2021"] * 20, [18722, 18753] * 20, "date", "month first, though"),
    "dotted": (["04.05.2021", "05.06.2021"] * 20, [18751, 18783] * 20, "date", "day first, though"),
    "clock": (numbered("{0:02}:30"), (COUNTS + 0.5) / 24, "time", None),
    "stopwatch": (numbered("{0}:30:00"), (COUNTS + 0.5) / 24, "time", None),
    "afternoon": (["1:30 PM", "12:30 am"] * 20, [13.5 / 24, 0.5 / 24] * 20, "time", None),
    "duration": (numbered("{0} days 12:00:00"), COUNTS + 0.5, "time", None),
    "period": (numbered("P{0}DT12H"), COUNTS + 0.5, "time", None),
    "negative": (numbered("-{0} days, 12:00:00"), 0.5 - COUNTS, "time", None),
    "metres": (numbered("{0},181 m2"), 1000 * COUNTS + 181, "number", "numbers in m2"),
    "litres": (numbered("{0},5 l"), COUNTS + 0.5, "number", "numbers in l; numbers with ','"),
    "kilos": (numbered("{0}.5kg"), COUNTS + 0.5, "number", "numbers in kg"),
    "celsius": (numbered("-{0} °C"), -COUNTS, "number", "numbers in °C"),
    "dollars": (numbered("${0},200"), 1000 * COUNTS + 200, "number", None),
    "euros": (numbered("{0}\u202f200 €"), 1000 * COUNTS + 200, "number", None),
    "coded": (numbered("EUR {0}"), COUNTS, "number", None),
    "percent": (numbered("{0} %"), COUNTS / 100, "percent", None),
    "bound": (["<5", "~7"] * 20, [5, 7] * 20, "number", "signs as in <5 are left out, 40"),
    "at_least": (["\u2265 5", ">=7"] * 20, [5, 7] * 20, "number", "signs as in <5"),
    "accounts": (numbered("({0},200)"), -1000 * COUNTS - 200, "number", None),
    "minus": (numbered("\u2212{0}"), -COUNTS, "number", None),
    "plus": (numbered("+{0}e3"), COUNTS * 1000, "number", None),
    "quoted": (numbered("'{0}"), COUNTS, "number", None),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_and_dates_as_people_write_them(name: str):
    written, expected, kind, remark = COLUMNS[name]
    tokens = Tokens.from_bytes([text.encode() for text in written])
    found = kinds_of(tokens, [name], ".")[0]
    assert found == kind
    assert (remark or "") in found.remark
    assert bool(found.remark) == bool(remark)
    values, valid = tokens.numbers(found)
    assert valid.all()
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "words",
    [["1.2.3", "1.2.4"], ["1-5", "6-10"], ["12a", "12b"], ["3/4", "1/2"], ["13/13/2021"] * 2,
     ["31.02.2021"] * 2, ["20210719x", "x"], ["P", "PT"], ["May 2020", "June 2021"], ["1/2/3"] * 2,
     ["20211301", "word"]],
)  # fmt: skip
def test_other_texts_stay_text(words):
    tokens = Tokens.from_bytes([word.encode() for word in words * 10])
    assert kinds_of(tokens, ["x"], ".", is_text=True)[0] == "text"


def test_eight_digits_are_a_number_unless_the_column_is_text_or_named_so():
    tokens = Tokens.from_bytes([b"20210719"] * 5)
    kinds = [kinds_of(tokens, [name], ".", is_text=t)[0] for name, t in
             (("n", False), ("n", True), ("birthDate", False))]  # fmt: skip
    assert kinds == ["number", "date", "date"]


def test_a_number_above_12_decides_the_order_of_the_whole_column():
    tokens = Tokens.from_bytes([b"04/05/2021"] * 30 + [b"13/05/2021"])
    found = kinds_of(tokens, ["d"], ".")[0]
    assert (found.order, found.remark) == ("dmy", "dates, day first")


@pytest.fixture(params=["csv", "xlsx", "jsonl", "parquet", "pandas", "objects", "polars", "arrow"])
def stored(request, tmp_path):
    """A frame in a file, or in memory."""

    def store(frame: pd.DataFrame):
        path = tmp_path / f"rows.{request.param}"
        texts = {name: object for name in frame if name != "y"}
        match request.param:
            case "csv":
                frame.to_csv(path, index=False)
            case "xlsx":
                pytest.importorskip("openpyxl")
                frame.to_excel(path, index=False)
            case "jsonl":
                frame.to_json(path, orient="records", lines=True)
            case "parquet":
                frame.to_parquet(path)
            case memory:
                makers = {"polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
                return makers.get(memory, lambda f: f.astype(texts))(frame)
        return path

    return store


def test_the_rule_is_the_same_for_all_tables(stored):
    frame = pd.DataFrame({name: written for name, (written, *_) in COLUMNS.items()})
    frame["y"] = np.arange(N_ROWS) % 7 / 2
    data = stored(frame)
    source = open_source(data, target="y", include=list(COLUMNS), dtype="float64")
    expected = [values for _, values, _, _ in COLUMNS.values()]
    found = read(source).X[:, first_features(source)]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-12)
    assert "metres: numbers in m2" in source.notes


def test_words_among_numbers_are_missing_counted_and_named(stored):
    ages = [*map(str, range(N_ROWS - 4)), "unknown", "n.k.", "unknown", "unknown"]
    frame = pd.DataFrame({"age": ages, "b": np.arange(N_ROWS) % 5, "y": np.arange(N_ROWS) / 2})
    source = open_source(stored(frame), target="y", include=["age"], missing="nan")
    assert np.isnan(read(source).X[:, 0]).tolist() == [False] * 36 + [True] * 4
    assert source.notes[-1] == "age: 'unknown' (3), 'n.k.' (1) count as missing"


@pytest.mark.parametrize("n_words", [20, 21])
def test_words_far_behind_the_head_are_missing_while_they_are_few(write, n_words):
    rows = b"1,2\n" * 100 + b"1,late\n" * n_words
    path = write("rows.csv", b"y,n\n" + b"1,2\n" * 100_000 + rows)
    few, many = (open_source(path, target="y", missing=how) for how in ("nan", "error"))
    assert int(np.isnan(read(few).X).sum()) == n_words
    with pytest.raises(ValueError, match=r"line 100102: column 'n' holds 'late', .* na_values="):
        read(many)


def test_many_words_behind_the_head_are_an_error(write, monkeypatch):
    monkeypatch.setattr("featgrad.readers.block.STRAY_SHARE", 1e-5)
    path = write("rows.csv", b"y,n\n" + b"1,2\n" * 100_000 + b"1,late\n" * 21)
    with pytest.raises(ValueError, match="line 100022: column 'n' holds 'late'"):
        read(open_source(path, target="y", missing="nan"))
    source = open_source(path, target="y", missing="nan", on_bad_rows="skip")
    assert (len(read(source).y), source.skipped) == (100_020, 1)


def test_a_column_with_many_words_is_text(write):
    path = write("rows.csv", b"y,n\n" + b"1,2\n2,3\n3,x\n" * 10)
    source = open_source(path, target="y")
    assert list(source.feature_names) == ["n=2", "n=3", "n=x"]
    assert "n: text, as 10 of 30 values, 'x' say, are no number" in source.notes[-1]


def test_rows_without_a_target_are_left_out_of_tables(stored):
    y = ["a", "b", None, "a"] * 10
    source = open_source(stored(pd.DataFrame({"n": np.arange(40) % 9, "y": y})), target="y")
    assert read(source).y.tolist() == ["a", "b", "a"] * 10
    assert source.notes == ["left out: 10 rows without a target"]


@pytest.mark.parametrize("column", [
    pl.Series([None] * 3, dtype=kind) for kind in (pl.Null, pl.String, pl.Date)
])  # fmt: skip
def test_a_column_of_nulls_is_a_number_that_is_missing(column):
    source = open_source(pl.DataFrame({"n": column, "m": [1, 2, 3], "y": [1, 2, 3]}), target="y",
                         missing="nan")  # fmt: skip
    assert np.isnan(read(source).X[:, 0]).all()


def test_dates_of_64_bits_and_objects_of_durations_are_read(tmp_path):
    days = pa.array([0, 86_400_000, 172_800_000], pa.date64())
    table = pa.table({"day": days, "y": [1, 2, 3]})
    pa.parquet.write_table(table, tmp_path / "rows.parquet")
    for data in (table, tmp_path / "rows.parquet"):
        assert read(open_source(data, target="y")).X[:, 0].tolist() == [0, 1, 2]
    lengths = pd.Series([pd.Timedelta(36, "h"), pd.Timedelta(0), None], dtype=object)
    frame = pd.DataFrame({"n": lengths, "y": [1, 2, 3]})
    np.testing.assert_array_equal(read(open_source(frame, target="y", missing="nan")).X[:, 0],
                                  [1.5, 0, np.nan])  # fmt: skip


def test_dates_in_names_of_folders_are_dates(tmp_path):
    frame = pd.DataFrame({"n": [1.0, 2, 3], "day": ["1970-01-02", "1970-01-03", "1970-01-03"]})
    frame.assign(y=[1, 2, 3]).to_parquet(tmp_path, partition_cols=["day"])
    source = open_source(tmp_path, target="y", include=["n", "day"])
    assert read(source).X[:, first_features(source)].tolist() == [[1, 1], [2, 2], [3, 2]]


def test_each_column_has_a_decimal_sign_of_its_own(write):
    rows = "".join(f'"{i},5",{i}.25,{i}.125\n' for i in range(40))
    source = open_source(write("rows.csv", f"a,b,y\n{rows}".encode()), target="y", dtype="float64")
    block = read(source)
    np.testing.assert_array_equal(block.X, np.arange(40)[:, None] + [[0.5, 0.25]])
    np.testing.assert_array_equal(block.y, np.arange(40) + 0.125)


def test_a_few_decimal_commas_do_not_make_thousands_of_points(write):
    rows = "".join(f"{1 + i / 8:.3f};{i}\n" for i in range(40))
    source = open_source(write("rows.csv", f"a;y\n{rows}1,5;40\n".encode()), target="y")
    values = [*(1 + np.arange(40) / 8), np.nan]
    np.testing.assert_array_equal(read(source).X[:, 0], values)
    assert "a: '1,5' (1) count as missing" in source.notes


FRAMES = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("kind", ["time32[s]", "time32[ms]", "time64[us]", "time64[ns]"])
@pytest.mark.parametrize("frame", FRAMES)
def test_times_of_day_are_days_in_every_unit(frame: str, kind: str):
    times = pa.array([time(6), None, time(12)]).cast(kind)
    data = FRAMES[frame](pa.table({"t": times, "y": [1, 2, 3]}))
    found = read(open_source(data, target="y", include=["t"], missing="nan")).X[:, 0]
    np.testing.assert_array_equal(found, [0.25, np.nan, 0.5])


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([b"a", b"b", b"c"], ["t=a", "t=b", "t=c"]),
        ([1.0, 2.5, 7.0], ["t=1.0", "t=2.5", "t=7.0"]),
        ([True, False, None], ["t=True"]),
    ],
    ids=["bytes", "floats", "booleans"],
)
@pytest.mark.parametrize("frame", FRAMES)
def test_values_that_are_taken_for_text_have_the_same_names_in_all_frames(frame, values, names):
    data = FRAMES[frame](pa.table({"t": pa.array(values), "y": [1, 2, 3]}))
    source = open_source(data, target="y", categorical=["t"], missing="nan")
    assert list(source.feature_names) == names


@pytest.mark.parametrize(
    ("make", "kind", "value"),
    [(pl.Series, pl.Int128, 2**70), (pd.Series, pd.ArrowDtype(pa.int64()), 2**62 + 1)],
    ids=["polars", "pandas"],
)
def test_integers_that_no_float_holds_are_rounded(make, kind, value: int):
    columns = {"n": make([value, -1, None], dtype=kind), "y": make([1, 2, 3])}
    data = (pl if make is pl.Series else pd).DataFrame(columns)
    found = read(open_source(data, target="y", dtype="float64", missing="nan")).X[:, 0]
    np.testing.assert_array_equal(found, [float(value), -1, np.nan])


def test_what_columns_hold_does_not_depend_on_the_size_of_row_groups(tmp_path):
    frame = pd.DataFrame({"t": ["1", None, "x", "y"] * 10, "y": range(40)})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1)
    source = open_source(tmp_path / "rows.parquet", target="y")
    assert list(source.feature_names) == ["t=1", "t=x", "t=y"]
    assert len(read(source).y) == 40
