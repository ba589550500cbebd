import csv
import zipfile
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featgrad._support import wording
from featgrad.readers import open_source
from featgrad.readers.block import InvalidRows
from featgrad.readers.opening import open_table
from source_rows import read


def test_columns_can_be_named_instead_of_a_first_line(write):
    path = write("rows.tsv", b"1\t2\t\n0\t\tx\n")
    source = open_source(
        path, target="y", columns=["y", "n", "t"], categorical=["t"], missing="zero"
    )
    np.testing.assert_array_equal(read(source).X, [[2, 0], [0, 1]])
    assert list(source.feature_names) == ["n", "t=x"]


def test_quoted_fields_may_hold_separators_and_line_ends(write):
    path = write("rows.csv", b'\xef\xbb\xbfy,"t,u"\r\n1,"a,\nb"\r\n0,"say ""c"""\r\n')
    source = open_source(path, target="y")
    assert source.feature_names.columns[0].values == ("a,\nb", 'say "c"')
    np.testing.assert_array_equal(read(source).X, [[0], [1]])


@pytest.mark.parametrize("exclude", [(), ("note",)])
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_quoted_field_may_begin_with_a_separator_and_go_on_in_the_next_line(
    tmp_path, kind: str, exclude
):
    rows = [("note", "n", "y"), ("ok", 1, 1), (",5,6\nmaybe", 2, 0), ("b", 3, 1)]
    path = tmp_path / f"rows.{kind}"
    if kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    found = read(open_source(path, target="y", exclude=exclude))
    np.testing.assert_array_equal(found.y, [1, 0, 1])
    np.testing.assert_array_equal(found.X[:, -1], [1, 2, 3])


def test_unquoted_carriage_returns_in_names_cut_no_rows_off(write):
    rows = b"".join(b"%d,%d,word,%d\n" % (i, i % 3, i % 2) for i in range(40))
    source = open_source(write("rows.csv", b"a\rb,c,t\ru,y\n" + rows), target="y", include=["a\rb"])
    assert len(read(source).X) == 40


def test_a_name_may_hold_a_carriage_return(write):
    source = open_source(write("rows.csv", b'y,"a\rb",c\n1,2,3\n0,5,6\n'), target="y")
    assert list(source.feature_names) == ["a\rb", "c"]
    np.testing.assert_array_equal(read(source).X, [[2, 3], [5, 6]])


def test_a_carriage_return_in_a_field_of_the_first_line_ends_no_record(write):
    path = write("rows.tsv", b"1\t2\r\tu\n0\t3\tv\n1\t4\tu\n")
    names = ["y", "n", "t"]
    source = open_source(path, columns=names, target="y", missing="error", on_bad_rows="skip")
    np.testing.assert_array_equal(read(source).y, [0, 1])


def test_a_sheet_has_all_cells_whatever_size_it_states(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [("n", "took", "y"), *((i, timedelta(hours=6 * i), i % 2) for i in range(9))]:
        book.active.append(row)
    whole, path = tmp_path / "whole.xlsx", tmp_path / "rows.xlsx"
    book.save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'ref="A1:C10"', b'ref="A1:B3"'))
    found = read(open_source(path, target="y", include=["n"]))
    np.testing.assert_array_equal(found.X, [[i, i / 4] for i in range(9)])


def a_sheet(path, rows):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_numbers_of_a_sheet_are_numbers_next_to_texts_with_decimal_commas(tmp_path):
    rows = [("n", "t", "y"), (1.125, "1,5", 1), (1e-7, "1.234,25", 0), (-1234.5, "2,5", 1)]
    found = read(open_source(a_sheet(tmp_path / "rows.xlsx", rows), target="y", dtype="float64"))
    np.testing.assert_array_equal(found.X, [[1.125, 1.5], [1e-7, 1234.25], [-1234.5, 2.5]])


def test_separators_in_cells_of_a_sheet_separate_nothing(tmp_path):
    rows = [("t", "n", "y"), ("a;b\t,c", 1, 0), ("b;c\t,d", 2, 1), ("a;b\t,c", 3, 1)]
    path = a_sheet(tmp_path / "rows.xlsx", rows)
    assert list(open_source(path, target="y").feature_names) == ["t=b;c\t,d", "n"]
    with pytest.raises(ValueError, match=r"sep=';' does not apply to .*rows\.xlsx"):
        open_source(path, target="y", sep=";")


def test_a_cell_far_away_in_a_sheet_is_reported_with_its_row(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [("a", "y"), (1, 2), (), (3, 4)]:
        book.active.append(row)
    book.active["XFD1048576"] = 5
    book.save(tmp_path / "rows.xlsx")
    with pytest.raises(ValueError, match="line 1048576: it has 16384 fields where 2 belong"):
        read(open_source(tmp_path / "rows.xlsx", target="y"))


def test_a_sheet_with_a_row_that_cannot_be_is_refused(tmp_path):
    whole, path = a_sheet(tmp_path / "whole.xlsx", [("a", "y"), (1, 2)]), tmp_path / "rows.xlsx"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'<row r="2"', b'<row r="2000000000"'))
    with pytest.raises(ValueError, match="more rows than a sheet can have, 1,048,576"):
        open_source(path, target="y")


@pytest.mark.parametrize(
    "content", [b"sep=\t\na\tb\ty\n1\t2\t0\n", b"sep=\t\r\na\tb\ty\r\n1\t2\t0"]
)
def test_the_first_line_may_name_a_tab(write, content: bytes):
    source = open_source(write("rows.csv", content), target="y")
    assert list(source.feature_names) == ["a", "b"]


@pytest.mark.parametrize("sep", ["\t", "\\t", "tab"])
def test_a_tab_can_be_given_as_it_is_typed(write, sep: str):
    source = open_source(write("rows.txt", b"a,1\tb,2\ty,3\n1\t2\t0\n"), target="y,3", sep=sep)
    assert list(source.feature_names) == ["a,1", "b,2"]


@pytest.mark.parametrize("sep", [b";", b"\t"])
def test_percentages_may_have_a_decimal_comma(write, sep: bytes):
    path = write("rows.csv", b"p;n;y\n1,5%;1;0\n2,25 %;2;1\n-3%;3;0\n".replace(b";", sep))
    found = read(open_source(path, target="y", dtype="float64"))
    np.testing.assert_allclose(found.X[:, 0], [0.015, 0.0225, -0.03], rtol=1e-15)


def test_the_end_of_a_day_and_a_leap_second_are_times(write):
    content = (
        b"t,d,z,y\n12:00,2020-01-01T06:00,2020-01-01T06:00Z,0\n"
        b"24:00,2020-01-01 24:00:00,2020-01-01T24:00+01:00,1\n"
        b"23:59:60,2016-12-31T23:59:60,2016-12-31T23:59:60Z,0\n"
    )
    found = read(open_source(write("rows.csv", content), target="y", dtype="float64"))
    expected = [[0.5, 18262.25, 18262.25], [1, 18263, 18263 - 1 / 24], [1, 17167, 17167]]
    np.testing.assert_array_equal(found.X[:, [0, 1, 13]], expected)


@pytest.mark.parametrize("word", [b"12:60", b"12:30:61", b"13:00 pm", b"1:2"])
def test_what_no_clock_shows_is_no_time(write, word: bytes):
    path = write("rows.csv", b"t,n,y\n12:00,1,0\n13:00,1,1\n14:00,1,1\n" + word + b",1,1\n")
    with pytest.raises(ValueError, match=r"line 5: column 't' holds .* not a time"):
        read(open_source(path, target="y", missing="error"))


def test_a_blank_among_booleans_is_missing(write):
    path = write("rows.csv", b"a,n,y\nTRUE,1,0\n,2,1\nFALSE,3,0\n")
    found = read(open_source(path, target="y", missing="nan"))
    np.testing.assert_array_equal(found.X, [[1, 1], [np.nan, 2], [0, 3]])


def test_a_last_field_that_begins_with_a_line_end_is_one_field(write):
    path = write("rows.csv", b'y,n,note\n1,1,a\n0,2,"\n1,3,"\n1,4,\n')
    found = read(open_source(path, target="y", exclude=["note"]))
    np.testing.assert_array_equal(found.y, [1, 0, 1])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1,2", "2 fields where 3 belong"),
        (b"1,2,a,4", "4 fields where 3 belong"),
        (b"1,two,a", "column 'n' holds 'two', which is not a number"),
        (b"1,inf,a", "a value is infinite"),
        (b"1,1e999,a", "a value is infinite"),
        (b"1,,a", "a value is missing"),
        (b"1,1,\xff\xfe", "column 't' is not UTF-8"),
    ],
)
def test_a_bad_line_raises_or_is_skipped(write, line: bytes, reason: str):
    good = b"1,2,a\n0,3,b\n1,-1e2,a\n"
    path = write("rows.csv", b"y,n,t\n" + good + b"\n" + line + b"\n" + good)
    with pytest.raises(ValueError, match=rf"rows\.csv, line 6: .*{reason}"):
        read(open_source(path, target="y", encoding="utf-8", missing="error"))
    options = {"missing": "error", "on_bad_rows": "skip", "encoding": "utf-8"}
    source = open_source(path, target="y", **options)
    np.testing.assert_array_equal(read(source).X, [[2, 0], [3, 1], [-100, 0]] * 2)
    assert source.skipped == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "no header"), (b",,\n,,\n", "no header"), (b"y,\xff\n1,2\n", "not UTF-8")],
)
def test_files_that_are_no_table_are_reported(write, content: bytes, reason: str):
    with pytest.raises(ValueError, match=reason):
        open_source(write("rows.csv", content), target="y", encoding="utf-8")


def test_a_header_is_a_table_without_rows(write):
    assert list(open_source(write("rows.csv", b"y,n\n"), target="y")) == []


@pytest.mark.parametrize("line", [b'1,"2', b'1,"2"3'])
def test_a_wrong_quote_is_one_bad_line(write, line: bytes):
    path = write("rows.csv", b"y,n\n1,2\n" + line + b"\n" + b"1,2\n" * 10)
    with pytest.raises(ValueError, match=r"rows\.csv, line 3: a quoted field is not closed"):
        read(open_source(path, target="y"))
    source = open_source(path, target="y", on_bad_rows="skip")
    np.testing.assert_array_equal(read(source).X, np.full((11, 1), 2))
    assert source.skipped == 1


def test_quoted_fields_may_span_chunks_of_text(write, monkeypatch):
    monkeypatch.setattr("featgrad.readers.lines._CHUNK_BYTES", 16)
    lines = [b'%d,"a\n""b""\n",x\n' % k for k in range(50)]
    path = write("rows.csv", b"y,t,u\n" + b"".join(lines) + b"inf,a,x\n")
    with pytest.raises(ValueError, match="line 152: the target is infinite"):
        read(open_source(path, target="y"))
    source = open_source(path, target="y", on_bad_rows="skip")
    np.testing.assert_array_equal(read(source).y, np.arange(50))
    assert list(source.feature_names) == ['t=a\n"b"\n', "u=x"]


def test_rows_longer_than_a_chunk_show_their_decimal_sign_and_kinds(write, monkeypatch):
    monkeypatch.setattr("featgrad.readers.lines._CHUNK_BYTES", 16)
    monkeypatch.setattr("featgrad.readers.delimited._MIN_LINES", 0)
    lines = b"".join(b"%d,5;NA;%d,25\n" % (k, k) for k in range(3)) + b"4,5;word;4,25\n"
    source = open_source(write("rows.csv", b"target;text;number\n" + lines), target="target")
    assert list(source.feature_names) == ["text=word", "number"]
    np.testing.assert_array_equal(read(source).y, [0.5, 1.5, 2.5, 4.5])


@pytest.mark.parametrize(
    "line", ["0,66;no;0,66", "1,5;yes;no;no;2,5", "3,5;T;7;07:13;no;x;9;tab\there", "1,5|x|2,25"]
)
def test_decimal_commas_of_a_file_without_a_header_separate_nothing(write, line: str):
    sep = ";" if ";" in line else "|"
    names = [f"n{k}" for k in range(line.count(sep) + 1)]
    content = (f"{line}\n{line}\n" * 5).encode()
    for known in ({}, {"columns": names}):
        table = open_table(write("rows.csv", content), **known, header=False)
        assert len(table.columns) == len(names)
        assert table.dialect.sep == sep


def test_a_first_line_of_many_columns(write):
    names = ",".join(f"column{k}" for k in range(30_000)).encode()
    path = write("rows.csv", names + b"\n" + b",".join([b"1"] * 30_000) + b"\n")
    assert read(open_source(path, target="column7")).X.shape == (1, 29_999)


@pytest.mark.parametrize("above", [b",,\n,,\n", b"A report\n"])
def test_numbers_below_a_title_are_rows(write, above: bytes):
    source = open_source(write("rows.csv", above + b"5,2,3\n4,5,6\n7,8,9\n"), target="column3")
    assert list(read(source).y) == [3, 6, 9]


def test_a_name_is_not_compared_with_too_many_columns(write, monkeypatch):
    compared = []
    monkeypatch.setattr(
        wording, "get_close_matches", lambda *given, **_: compared.append(given) or []
    )
    path = write("rows.csv", b",".join(b"c%d" % i for i in range(100_001)) + b"\n")
    with pytest.raises(ValueError, match=r"target='d' is not a column .* and 99981 more\.$"):
        open_source(path, target="d")
    assert not compared


def test_a_cut_compressed_file_is_reported(write):
    import gzip

    content = gzip.compress(b"y,n\n" + b"".join(b"1,%d\n" % k for k in range(5000)))
    path = write("rows.csv.gz", content[:-30])
    with pytest.raises(ValueError, match=r"rows\.csv\.gz cannot be read"):
        read(open_source(path, target="y"))


@pytest.mark.parametrize("unusual", [b"", b'"1",2,3\n', b"\n", b" 1,2,3\n"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_numbers_are_the_same_next_to_unusual_lines(write, monkeypatch, unusual: bytes, end: bytes):
    monkeypatch.setattr("featgrad.readers.lines._CHUNK_BYTES", 64)
    monkeypatch.setattr("featgrad.readers.delimited._MIN_LINES", 0)
    lines = [b"%d,,-%d.5e-1" % (k, k) + end for k in range(60)]
    lines.insert(30, unusual)
    path = write("rows.csv", b"y,n,m" + end + b"".join(lines))
    found = read(open_source(path, target="y", missing="nan", dtype="float64"))
    kept = found.y[found.X[:, 1] < 0]
    np.testing.assert_array_equal(kept, np.arange(60))
    assert len(found.y) == 60 + (b"1" in unusual)
    np.testing.assert_allclose(found.X[0], [np.nan, -0.05])


def test_a_number_that_stands_for_a_missing_one_may_be_written_in_any_way(write):
    path = write("rows.csv", b"y,n,m\n1,-999,1\n0,-999.0,2\n1,-9.99e2,3\n0,5,-998\n")
    found = read(open_source(path, target="y", missing="nan", na_values=["-999"]))
    np.testing.assert_array_equal(found.X, [[np.nan, 1], [np.nan, 2], [np.nan, 3], [5, -998]])


@pytest.mark.parametrize("word", ["-999", "-999,0", "-999.0"])
def test_a_number_is_missing_in_columns_of_every_kind_and_with_decimal_commas(write, word: str):
    rows = b"n;b;d;t;y\n1,5;true;2020-01-01;u;1\n-999,00;-999;-999,0;-999,0;0\n2,5;false;;v;1\n"
    source = open_source(write("rows.csv", rows), target="y", missing="nan", na_values=[word])
    assert source.feature_names.variables == ["n", "b", "d", "t"]
    found = read(source).X[1]
    np.testing.assert_array_equal(found[[0, 1, 2, -1]], np.nan)


def test_a_bad_line_far_down_in_a_file_of_numbers_is_reported(write, monkeypatch):
    monkeypatch.setattr("featgrad.readers.lines._CHUNK_BYTES", 64)
    path = write("rows.csv", b"y,n\n" + b"1,2\n" * 100 + b"1,inf\n" + b"1,2\n" * 100)
    with pytest.raises(ValueError, match="line 102: a value is infinite"):
        read(open_source(path, target="y"))


_TEXT_FIELDS = st.one_of(
    st.text(alphabet="ab é5\t", max_size=4),
    st.text(alphabet='ab,"\n é', max_size=4).map(lambda s: '"' + s.replace('"', '""') + '"'),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_TEXT_FIELDS, _TEXT_FIELDS), min_size=3, max_size=8), st.booleans())
def test_texts_are_those_that_the_csv_module_reads(write, fields, returns: bool):
    end = "\r\n" if returns else "\n"
    lines = [f"{k % 2},{a},{k}.5,{b}" for k, (a, b) in enumerate(fields)]
    path = write("rows.csv", (end.join(["y,a,n,b", *lines]) + end).encode())
    options = {"sep": ",", "decimal": ".", "header": True, "encoding": "utf-8"}
    table = open_table(path, **options)
    (chunk,) = table.chunks(["n"], ["b", "a"], InvalidRows("rows", "error", "nan"))
    with path.open(newline="", encoding="utf-8") as file:
        expected = list(csv.reader(file))[1:]
    for name, place in (("a", 1), ("b", 3)):
        tokens = chunk.texts[name]
        found = [tokens.token(row).decode() for row in range(len(tokens))]
        wanted = [row[place] for row in expected]
        # Blanks are no text.
        assert found == [text if text.strip(" \t") else "" for text in wanted]
    np.testing.assert_array_equal(chunk.numbers[0], [k + 0.5 for k in range(len(fields))])


_FIELDS = st.sampled_from(["", "5", "-1.25", "word", "a word " * 9, 'x"y', '"x,y"', '"a ""b"""'])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(_FIELDS, min_size=9, max_size=9), min_size=2, max_size=8),
    st.sets(st.integers(0, 8), min_size=1, max_size=3),
)
def test_columns_that_are_not_wanted_change_nothing(write, rows, wanted):
    # Words in all fields of a first or last row would be units or a footnote.
    lines = [",".join(row) for row in ["abcdefghi", "777777777", *rows, "999999999"]]
    path = write("rows.csv", ("\n".join(lines) + "\n").encode())
    table = open_table(path, sep=",", decimal=".", header=True, encoding="utf-8")
    names = ["abcdefghi"[place] for place in sorted(wanted)]
    chunks = list(table.chunks([], names, InvalidRows("rows", "error", "nan")))
    expected = list(csv.reader(lines[1:]))
    for name, place in zip(names, sorted(wanted), strict=True):
        found = [c.texts[name].token(k).decode() for c in chunks for k in range(len(c.texts[name]))]
        assert found == [row[place] for row in expected]


def test_a_last_row_is_no_footnote_where_others_are_as_short(write):
    rows = "".join(f"name {i},,,\n" if i % 3 else f"name {i},{i},2,3\n" for i in range(1, 30))
    source = open_source(write("rows.csv", f"n,a,b,c\n{rows}".encode()), target="n")
    assert len(read(source).X) == 29


@pytest.mark.parametrize(
    ("line", "sep"), [("1,5\t2,5\t3,5", "\t"), ('"1,5","2,5","3,5"', ",")], ids=["plain", "quoted"]
)
def test_a_decimal_comma_that_is_given_separates_only_where_nothing_else_does(write, line, sep):
    text = sep.join("aby") + "\n" + f"{line}\n" * 9
    table = open_table(write("rows.csv", text.encode()), decimal=",")
    assert (table.dialect.sep, list(table.columns)) == (sep, ["a", "b", "y"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ends_of_lines_in_names_stay_what_they_are(write, end: str):
    names = ["two\r\nlines", "two\nlines", "re\rturn", "last"]
    lines = [",".join(f'"{name}"' for name in names), "", "1,2,3,4", "5,6,7,8"]
    table = open_table(write("rows.csv", end.join(lines).encode()))
    assert list(table.columns) == names
    assert not table.notes
