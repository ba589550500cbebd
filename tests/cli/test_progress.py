import io
import sys

import numpy as np
import pytest

from featgrad import FeatureGradientSelector
from featgrad.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def table():
    X = np.random.default_rng(0).standard_normal((50, 20))
    return X, X[:, 0]


def shown(monkeypatch, stream: io.StringIO, table, *, quiet: bool = False) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("featgrad.cli.progress._SECONDS_BETWEEN", 0)
    progress = Progress(len(table[1]), 1, quiet)
    progress.note("a note")
    FeatureGradientSelector(2, max_iter=20).set_callbacks(progress).fit(*table)
    progress.line("a line")
    progress.close()
    return stream.getvalue()


def test_a_terminal_sees_a_bar_that_moves_and_goes(monkeypatch, table):
    text = shown(monkeypatch, Terminal(), table)
    half = text.split("\r")[-2]
    assert "[###############...............]  50%" in half
    assert "rows/s" in half
    assert "s left" in half
    assert text.endswith("\r\x1b[K")
    assert "a line" not in text


def test_elsewhere_there_are_plain_lines(monkeypatch, table):
    assert shown(monkeypatch, io.StringIO(), table) == "a note\na line\n"


def test_quiet_says_nothing(monkeypatch, table):
    assert shown(monkeypatch, Terminal(), table, quiet=True) == ""
