import bz2
import gzip
import lzma

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from featgrad.readers import open_source
from source_rows import read


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_agrees_with_scikit_learn(tmp_path, zero_based: bool, block_rows: int):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 30)) * (rng.random((50, 30)) < 0.2)
    X[0, [0, 29]] = 1
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, rng.integers(0, 2, 50), str(path), zero_based=zero_based)
    expected, y = load_svmlight_file(str(path), zero_based=zero_based)
    source = open_source(path, dtype="float64", block_rows=block_rows)
    assert (source.n_rows, source.n_features) == (50, 30)
    assert [len(block) for block in source][:-1] == [block_rows] * (-(-50 // block_rows) - 1)
    rows = read(source)
    np.testing.assert_array_equal(rows.X, expected.toarray())
    np.testing.assert_array_equal(rows.y, y)


def test_everything_a_line_may_hold(write):
    text = (
        b"# a comment\n"
        b"1 qid:3 1:2.5 3:-1e-3 # rest\n"
        b"\n"
        b"-1\t2:+.5\r\n"
        b"2.5 1:1E2 2:7. 4:12345678901234567890\n"
        b"0#no feature\n"
        b"   \n"
        b"+3 3:1e-400"
    )
    rows = read(open_source(write("rows.svm", text), dtype="float64"))
    np.testing.assert_array_equal(rows.y, [1, -1, 2.5, 0, 3])
    np.testing.assert_allclose(
        rows.X,
        [[2.5, 0, -1e-3, 0], [0, 0.5, 0, 0], [100, 7, 0, 12345678901234567890], [0] * 4, [0] * 4],
        rtol=1e-15,
    )


@pytest.mark.parametrize("number", [0.1, 1 / 3, 1e22, 1e308, 5e-324, 2.5e-310])
def test_numbers_are_exact_to_the_last_places(write, number: float):
    path = write("rows.svm", f"0 1:{number!r}\n".encode())
    found = read(open_source(path, dtype="float64")).X[0, 0]
    assert abs(found - number) <= 2 * np.spacing(number)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"x 1:2", "label"),
        (b"1:2 2:3", "label"),
        (b"inf 1:2", "label"),
        (b"1 a:2", "index is not an integer"),
        (b"1 -2:2", "index is not an integer"),
        (b"1 1.5:2", "index is not an integer"),
        (b"1 3 4:1", "followed by a colon"),
        (b"1 99999999999999999999:1", "larger"),
        (b"1 2:1 2:1", "increase"),
        (b"1 2:1 1:1", "increase"),
        (b"1 1:", "value is not a number"),
        (b"1 1:2x", "value is not a number"),
        (b"1 1:.nan", "value is not a number"),
        (b"1 1:1e", "value is not a number"),
        (b"1 1:inf", "infinite"),
        (b"1 1:1e39", "infinite"),
        (b"1 1:nan", "missing"),
        (b"1 qid:x 1:1", "qid"),
        (b"1 1:2 \xff\xfe", "index is not an integer"),
        (b"1 1:2 \x00", "index is not an integer"),
    ],
)
def test_a_bad_line_raises_or_is_skipped(write, line: bytes, reason: str):
    path = write("rows.svm", b"0 1:1\n\n" + line + b"\n1 2:1\n")
    with pytest.raises(ValueError, match=rf"rows\.svm, line 3: .*{reason}"):
        read(open_source(path, missing="error"))
    source = open_source(path, missing="error", on_bad_rows="skip")
    np.testing.assert_array_equal(read(source).X, [[1, 0], [0, 1]])
    assert source.skipped == 1


@pytest.mark.parametrize(("missing", "expected"), [("nan", np.nan), ("zero", 0)])
def test_a_missing_value_is_kept_on_request(write, missing: str, expected: float):
    path = write("rows.svm", b"0 1:NaN 2:3\n")
    np.testing.assert_array_equal(read(open_source(path, missing=missing)).X, [[expected, 3]])


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_text_is_known_by_its_content(write, compress):
    path = write("rows", compress(b"1 1:2\n-1 2:3\n"))
    np.testing.assert_array_equal(read(open_source(path)).X, [[2, 0], [0, 3]])


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_cut_compressed_text_is_reported(write, compress):
    content = compress("".join(f"1 {k + 1}:{k}.5\n" for k in range(1000)).encode())
    path = write("rows.svm.gz", content[:-20])
    with pytest.raises(ValueError, match=r"rows\.svm\.gz cannot be read"):
        read(open_source(path))


def test_given_sizes_spare_the_first_pass(write):
    path = write("rows.svm", b"1 1:2\n1 4:2\n")
    source = open_source(path, n_features=3, zero_based=False)
    with pytest.raises(ValueError, match="line 2: an index is larger"):
        read(source)
    with pytest.raises(ValueError, match="line 1: an index is 0"):
        read(open_source(write("zero.svm", b"1 0:2\n"), n_features=3, zero_based=False))


def test_a_huge_index_is_no_number_of_features(write):
    path = write("rows.svm", b"1 1:2\n1 2000000000:2\n")
    with pytest.raises(ValueError, match="line 2: an index is larger"):
        open_source(path)


def test_a_file_without_features_is_reported(write):
    with pytest.raises(ValueError, match="no feature"):
        open_source(write("rows.svm", b"1\n2\n"))


def test_many_chunks_of_text_are_joined(write, monkeypatch):
    monkeypatch.setattr("featgrad.readers.lines._CHUNK_BYTES", 16)
    text = "".join(f"{k} {k % 7 + 1}:{k}\n" for k in range(100)).encode()
    rows = read(open_source(write("rows.svm", text), block_rows=9))
    np.testing.assert_array_equal(rows.y, np.arange(100))
    np.testing.assert_array_equal(rows.X.sum(axis=1), np.arange(100))


def test_a_line_without_end_is_reported(write, monkeypatch):
    monkeypatch.setattr("featgrad.readers.lines._CHUNK_BYTES", 16)
    monkeypatch.setattr("featgrad.readers.lines._MAX_LINE_BYTES", 64)
    with pytest.raises(ValueError, match="longer than"):
        open_source(write("rows.svm", b"1 " * 100))


def test_names_are_given_or_read_from_the_lines_of_a_file(tmp_path):
    path, names = tmp_path / "rows.svm", tmp_path / "names.txt"
    path.write_text("1 1:2 2:3\n0 2:1\n")
    names.write_text("a\nlong name\nc\n")
    for given in (names, str(names), ["a", "long name", "c"]):
        source = open_source(path, names=given)
        assert source.feature_names == ["a", "long name", "c"]
        assert next(iter(source)).X.shape == (2, 3)


@pytest.mark.parametrize(
    ("names", "problem"),
    [(["a"], "an index is larger"), (["a", "a"], "two columns 'a'")],
    ids=["too few", "twice"],
)
def test_names_have_to_be_as_many_as_features_and_different(tmp_path, names, problem):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:2 2:3\n0 2:1\n")
    with pytest.raises(ValueError, match=problem):
        list(open_source(path, names=names))
