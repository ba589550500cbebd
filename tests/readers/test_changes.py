"""Files that change between passes, and files that would ask for too much memory."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from featgrad.readers import convert, open_source

LINES = [f"{i % 7},{i % 5},{i % 3}" for i in range(200)]


def write(path: Path, lines: list[str]) -> None:
    """The rows in the format of the suffix."""
    rows = [[float(field) for field in line.split(",")] for line in lines]
    if path.suffix == ".csv":
        path.write_text("\n".join(["y,a,b", *lines]))
    elif path.suffix == ".svm":
        path.write_text("\n".join(f"{y} 1:{a} 2:{b}" for y, a, b in rows))
    else:
        values = np.array(rows)
        convert(open_source(values[:, 1:], target=values[:, 0]), path)


def grow(path: Path) -> None:
    write(path, [*LINES, "1,1,1"])


def shrink(path: Path) -> None:
    write(path, LINES[:-1])


def replace(path: Path) -> None:
    write(path, [*LINES[:-1], "0,0,0"])


@pytest.mark.parametrize("change", [grow, shrink, replace, Path.unlink])
@pytest.mark.parametrize("suffix", ["csv", "svm", "arrow"])
def test_a_file_that_changes_is_noticed(tmp_path: Path, suffix: str, change):
    path = tmp_path / f"rows.{suffix}"
    write(path, LINES)
    source = open_source(path, **({"target": "y"} if suffix == "csv" else {}))
    assert sum(len(block) for block in source) == 200
    change(path)
    with pytest.raises(ValueError, match=f"{suffix} was changed or removed since it was opened"):
        list(source)


def test_rows_are_counted_where_size_and_time_say_nothing(tmp_path: Path):
    path = tmp_path / "rows.csv"
    write(path, LINES)
    source = open_source(path, target="y")
    list(source)
    text, time = path.read_text(), path.stat().st_mtime_ns
    path.write_text(text.removesuffix(LINES[-1]) + "\n" * len(LINES[-1]))
    os.utime(path, ns=(time, time))
    with pytest.raises(ValueError, match=r"had 200 rows .* and 199 when it was read again"):
        list(source)


def peak_bytes(read) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_many_short_lines_under_a_wide_header_need_little_memory(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text(",".join(f"c{i}" for i in range(5000)) + "\n" + "1\n" * 500_000)

    def read() -> None:
        source = open_source(path, target="c0", on_bad_rows="skip")
        assert (list(source), source.skipped) == ([], 500_000)

    assert peak_bytes(read) < 200e6


def test_a_garbled_index_is_refused(tmp_path: Path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:1\n0 1:1 134217727:1\n")
    with pytest.raises(
        ValueError, match=r"largest index in .* is 134,217,727, but it has 4 entries"
    ):
        open_source(path)
    assert open_source(path, n_features=134217727).n_features == 134217727
