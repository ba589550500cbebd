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
    return X, X[:, 0] + X[:, 1]


def shown(monkeypatch, stream: io.StringIO, rows, *, quiet=False, expected: int | None = 50) -> str:
    """Output while rows are read and a search runs."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("featgrad.cli.output._INTERVAL_S", 0)
    progress = Progress(quiet)
    progress.note("a note")
    source = open_source(rows[0], target=rows[1], block_rows=25)
    assert len(list(ProgressSource(source, expected, progress))) == 2
    selector = FeatureGradientSelector(2)
    selector.set_callbacks(progress).fit(*rows)
    progress.note("a line")
    progress.close()
    return stream.getvalue()


def test_a_terminal_sees_rows_and_steps_counted_on_a_line_that_goes(monkeypatch, rows):
    text = shown(monkeypatch, Terminal(), rows)
    assert "\r\x1b[2Kreading: 25 rows, 50%\r\x1b[2Kreading: 50 rows, 100%\r\x1b[2K" in text
    assert "\r\x1b[2Ksearching: 2 steps\r\x1b[2K" in text
    # All that stays is whole lines.
    stays = [line.split("\r\x1b[2K")[-1] for line in text.split("\n")]
    assert stays[0] == "a note"
    assert stays[1].startswith("read 50 rows, ")
    assert stays[2:] == ["a line", ""]


def test_rows_are_counted_where_their_number_is_unknown(monkeypatch, rows):
    text = shown(monkeypatch, Terminal(), rows, expected=None)
    assert "reading: 50 rows\r" in text


def test_elsewhere_there_are_plain_lines(monkeypatch, rows):
    lines = shown(monkeypatch, io.StringIO(), rows).splitlines()
    assert lines[0] == "a note"
    assert lines[1].startswith("read 50 rows, ")
    assert lines[2:] == ["a line"]


def test_quiet_says_nothing(monkeypatch, rows):
    assert shown(monkeypatch, Terminal(), rows, quiet=True) == ""
