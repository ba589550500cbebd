import io
import sys

import numpy as np
import pytest

from featgrad import FeatureGradientSelector
from featgrad.cli.load import ProgressSource
from featgrad.cli.output import Progress
from featgrad.readers import open_source


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def rows():
    X = np.random.default_rng(0).standard_normal((50, 20))
    return X, X[:, 0]


def shown(monkeypatch, stream: io.StringIO, rows, *, quiet=False, expected: int | None = 50) -> str:
    """Output while rows are read and a search runs."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    progress = Progress(quiet)
    progress.note("a note")
    source = open_source(rows[0], target=rows[1], block_rows=25)
    assert len(list(ProgressSource(source, expected, progress))) == 2
    selector = FeatureGradientSelector(2)
    selector.set_callbacks(progress.searching(1)).fit(*rows)
    progress.line("a line")
    progress.close()
    return stream.getvalue()


def test_a_terminal_sees_bars_that_move_and_go(monkeypatch, rows):
    pytest.importorskip("rich")
    text = shown(monkeypatch, Terminal(), rows)
    assert "a note" in text
    assert "reading" in text
    assert "100%" in text
    assert "50 rows" in text
    assert "searching" in text
    assert "\x1b[2K" in text.split("searching")[-1]  # the line is erased
    assert "a line" not in text


def test_rows_are_counted_where_their_number_is_unknown(monkeypatch, rows):
    pytest.importorskip("rich")
    text = shown(monkeypatch, Terminal(), rows, expected=None)
    assert "50 rows" in text
    assert "100%" not in text.split("searching")[0]


def test_a_terminal_sees_plain_lines_without_rich(monkeypatch, rows):
    monkeypatch.setattr("featgrad.cli.output.find_spec", lambda name: None)
    assert shown(monkeypatch, Terminal(), rows).startswith("a note\nread 50 rows, ")


def test_elsewhere_there_are_plain_lines(monkeypatch, rows):
    lines = shown(monkeypatch, io.StringIO(), rows).splitlines()
    assert lines[0] == "a note"
    assert lines[1].startswith("read 50 rows, ")
    assert lines[2:] == ["a line"]


def test_quiet_says_nothing(monkeypatch, rows):
    assert shown(monkeypatch, Terminal(), rows, quiet=True) == ""
