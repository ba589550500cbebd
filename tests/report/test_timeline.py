"""The timeline of a stream, as a plot and as a page."""

import matplotlib as mpl
import numpy as np
import pytest

from featgrad.online.history import Decision, Event
from featgrad.report import TimelineDisplay

TIMELINE = [
    Decision(100, np.array([0, 2]), np.array([0.3, 0.2])),
    Decision(500, np.array([1, 2]), np.array([0.4, 0.1])),
    Decision(900, np.array([0, 1]), np.array([0.2, 0.5])),
]
ALARMS = [Event(400, "alarm", (1,), (0,)), Event(950, "shift", (0,), (2,))]


@pytest.fixture
def display() -> TimelineDisplay:
    return TimelineDisplay(TIMELINE, ALARMS, 1000, ["a", "b", "c"])


def test_scores_are_those_of_chosen_features_over_time(display):
    assert display.features.tolist() == [0, 2, 1]
    nan = np.nan
    expected = [[0.3, nan, 0.2], [0.2, 0.1, nan], [nan, 0.4, 0.5]]
    np.testing.assert_array_equal(display.scores, expected)
    assert display.edges.tolist() == [100, 500, 900, 1000]


def test_features_that_were_chosen_for_longest_are_shown(display):
    assert display.longest(2) == [0, 1]


def test_features_are_drawn_in_the_order_of_their_entry(display):
    mpl.use("agg")
    display.plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "c", "b"]
    assert [line.get_xdata()[0] for line in display.ax_.lines] == [400, 950]
    mpl.pyplot.close(display.figure_)
