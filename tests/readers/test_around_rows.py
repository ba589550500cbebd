"""Lines above, below and between the rows of a table that are none of them."""

import gzip

import numpy as np
import pytest

from featgrad import open_source
from featgrad.readers.opening import open_table
from source_rows import read

ROWS = b"".join(b"%d,%d,%d\n" % (i, i * i, i % 2) for i in range(1, 40))
HEADER = b"n,squares,y\n"


def rows_of(path, **options):
    return read(open_source(path, target="y", include=["n"], dtype="float64", **options)).X


def sums(rows: bytes) -> bytes:
    values = [list(map(int, line.split(b","))) for line in rows.splitlines()]
    return b",".join(b"%d" % total for total in np.sum(values, axis=0))


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (b"Squares\n", b""),
        (b"Squares\n\nof numbers,,\n", b""),
        (b"", b"\nSource: arithmetic\n"),
        (b"", sums(ROWS) + b"\n"),
        (b"", b"total,1,2\n"),
        (b"Squares\n", b"Mean:,1.5,2\n\n* rounded\n"),
    ],
)
def test_lines_around_a_table_are_no_rows(write, above: bytes, below: bytes):
    path = write("rows.csv", above + HEADER + ROWS + below)
    np.testing.assert_array_equal(rows_of(path), [[i, i * i] for i in range(1, 40)])
    assert all("left out" in note for note in open_table(path).notes)


@pytest.mark.parametrize(
    "content",
    [
        b",,y\n" + ROWS,
        b"n,,\n" + ROWS,
        b"1,,\n" + ROWS,
        b"name,n,y\ntotal,1,0\na,2,1\ntotal,3,0\n",
        b"name,n,y\na,1,0\nb,2,1\nc,,\n".replace(b"c,,", b"c,,0"),
        b"n,y,name\n1,0,a\n2,1,b\n3,0,total\n",
        HEADER + ROWS + b"1,2,3\n",
    ],
    ids=["a name", "another", "a number", "a category", "missing", "a last one", "no sums"],
)
def test_rows_that_are_like_titles_or_totals_stay(write, content: bytes):
    table = open_table(write("rows.csv", content))
    assert not any("left out" in note for note in table.notes)


def test_the_end_of_a_large_file_is_looked_at(write):
    rows = ROWS * 3000
    path = write("rows.csv", HEADER + rows + b"Sum,1,2\n")
    assert len(rows_of(path)) == 39 * 3000
    assert open_table(path).notes == ["left out at the end: 1 row of totals"]


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8-sig"])
def test_the_end_is_found_in_any_encoding(write, encoding: str):
    text = (HEADER + ROWS * 3000).decode() + "Größe\n"
    assert len(rows_of(write("rows.csv", text.encode(encoding)))) == 39 * 3000


def test_the_end_of_a_compressed_file_is_not_known_before_it_is_read(write):
    path = write("rows.csv.gz", gzip.compress(HEADER + ROWS * 3000 + b"Sum,1,2,3\n"))
    with pytest.raises(ValueError, match="line 117002: it has 4 fields"):
        rows_of(path)


def test_a_header_that_comes_again_is_no_row_and_lines_keep_their_numbers(write):
    content = HEADER + (ROWS + HEADER) * 3000
    assert len(rows_of(write("rows.csv", content))) == 39 * 3000
    with pytest.raises(ValueError, match="line 120002: it has 2 fields"):
        rows_of(write("more.csv", content + b"1,2\n" + ROWS))


def test_a_line_of_units_is_no_row(write):
    path = write("rows.csv", HEADER + b"m,m2,(class)\n" + ROWS)
    assert len(rows_of(path)) == 39
    assert open_table(path).notes == ["left out as units of the columns: line 2"]


def test_given_lines_above_the_header_are_skipped(write):
    path = write("rows.csv", b"1,2,3\n4,5,6\n" + HEADER + ROWS)
    assert len(rows_of(path, skip_rows=2)) == 39
    with pytest.raises(ValueError, match="skip_rows=-1"):
        rows_of(path, skip_rows=-1)
    with pytest.raises(ValueError, match="skip_rows=1 does not apply to the array"):
        open_source(np.eye(3), target=[0, 1, 1], skip_rows=1)


@pytest.mark.parametrize("sep", [b",", b"\t", b"  "])
def test_rows_may_be_variables(write, sep: bytes):
    lines = [b"gene,s1,s2,s3,s4", b"BRCA,1,2,3,4", b"TP53,5,7,6,8", b"y,0,1,1,0"]
    path = write("rows.txt", b"\n".join(lines).replace(b",", sep) + b"\n")
    source = open_source(path, target="y", transpose=True, exclude=["gene"])
    assert list(source.feature_names) == ["BRCA", "TP53"]
    np.testing.assert_array_equal(read(source).X, [[1, 5], [2, 7], [3, 6], [4, 8]])
    with pytest.raises(ValueError, match=r"target='y' is a row of .*: pass transpose=True"):
        open_source(path, target="y")
