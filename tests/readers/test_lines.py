"""Chunks of text are parsed in threads: nothing but the time may depend on these."""

import gzip
import threading
import time

import numba
import numpy as np
import pytest

from featgrad.readers import open_source
from featgrad.readers.lines import parsed
from source_rows import read


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("featgrad.readers.lines._CHUNK_BYTES", 256)
    monkeypatch.setattr("featgrad.readers.delimited._MIN_LINES", 0)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)


def parsing_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("featgrad-parse")]


CONTENT = {
    "rows.csv": b"y,n,t\n" + b"".join(b'%d,%d.25,"t %d"\n' % (k, k, k % 7) for k in range(500)),
    "odd.csv": b"y,n,t\n"
    + b"".join(b'%d,%s,"a\n""%d"""\n' % (k, b"NA" if k % 5 else b"1", k % 7) for k in range(500)),
    "rows.svm": b"".join(b"%d 1:%d 7:-2.5\n" % (k, k) for k in range(500)),
}


@pytest.mark.parametrize("name", CONTENT)
def test_rows_do_not_depend_on_threads(write, monkeypatch, name: str):
    source = open_source(
        write(name, CONTENT[name]), target="y" if name.endswith("csv") else None, missing="nan"
    )
    found = read(source)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)
    expected = read(source)
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, np.arange(500))


@pytest.mark.parametrize(
    ("name", "line"), [("rows.csv", b"1,2\n"), ("odd.csv", b"1,inf,x\n"), ("rows.svm", b"1 1:x\n")]
)
def test_the_first_invalid_line_is_named_and_threads_end(write, name: str, line: bytes):
    path = write(name, CONTENT[name] + line + CONTENT[name].split(b"\n", 1)[1])
    number = CONTENT[name].count(b"\n") + 1
    options = {"target": "y", "missing": "nan"} if name.endswith("csv") else {}
    with pytest.raises(ValueError, match=f"line {number}: "):
        read(open_source(path, **options))
    assert parsing_threads() == []


def test_an_invalid_line_comes_before_the_damage_that_follows_it(write):
    noise = np.random.default_rng(0).integers(10**9, size=40_000)
    lines = [b"1,%d\n" % k for k in noise]
    lines[9_000] = b"1,two\n"
    path = write("rows.csv.gz", gzip.compress(b"y,n\n" + b"".join(lines))[:-30])
    with pytest.raises(ValueError, match="line 9002: "):
        read(open_source(path, target="y", missing="error"))


def test_leaving_early_ends_the_threads(write):
    blocks = iter(open_source(write("rows.csv", CONTENT["rows.csv"]), target="y", block_rows=150))
    next(blocks)
    assert len(parsing_threads()) > 0
    # Python 3.12 keeps what a closed generator has in hand until it is deleted.
    blocks.close()
    del blocks
    assert parsing_threads() == []


def test_few_chunks_are_ahead_and_they_come_in_order(tmp_path):
    taken = 0

    def chunks():
        nonlocal taken
        for k in range(40):
            taken += 1
            yield b"%d" % k

    def parse(chunk: bytes) -> int:
        time.sleep(0.002 * (int(chunk) % 3))
        return int(chunk)

    for used, (chunk, value) in enumerate(parsed(tmp_path, chunks(), parse)):
        assert chunk == b"%d" % used
        assert value == used
        # Those of three threads, and none while somebody may look at the first rows only.
        assert taken <= 1 + used + 3 * (used > 3)
