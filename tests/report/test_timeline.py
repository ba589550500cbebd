"""The timeline of a stream."""

import matplotlib as mpl
import pytest

from featgrad.online.history import Event
from featgrad.report import TimelineDisplay

EVENTS = [
    Event(100, "choice", (0, 2), ()),
    Event(400, "alarm", (1,), (0,)),
    Event(500, "choice", (1,), (0,)),
    Event(900, "choice", (0,), (2,)),
]


@pytest.fixture
def display() -> TimelineDisplay:
    return TimelineDisplay(EVENTS, 1000, ["a", "b", "c"])


def test_spans_are_from_entry_to_exit(display):
    assert display.spans == {0: [(100, 500), (900, 1000)], 1: [(500, 1000)], 2: [(100, 900)]}


def test_feature_whose_entry_is_forgotten_was_there_from_the_start():
    assert TimelineDisplay(EVENTS[2:], 1000, ["a", "b", "c"]).spans[0][0] == (0, 500)


def test_features_are_drawn_in_the_order_of_their_entry(display):
    mpl.use("agg")
    display.plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "c", "b"]
    assert [line.get_xdata()[0] for line in display.ax_.lines] == [400]
    mpl.pyplot.close(display.figure_)
