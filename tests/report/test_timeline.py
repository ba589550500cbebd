"""The timeline of a stream, as a plot and as a page."""

import json
import re
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from featgrad import OnlineFeatureSelector
from featgrad.estimates.estimate import Estimate, unknown
from featgrad.online.history import Event, TimelinePoint
from featgrad.report import TimelineDisplay, write_stream_report
from featgrad.report.stream import _events, _timeline

TIMELINE = [
    TimelinePoint(100, np.array([0, 2]), np.array([0.3, 0.2]), Estimate(0.5, 0.01, 2)),
    TimelinePoint(500, np.array([1, 2]), np.array([0.4, 0.1]), unknown(2)),
    TimelinePoint(900, np.array([0, 1]), np.array([0.2, 0.5]), Estimate(0.7, 0.01, 2)),
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
    assert display.longest(2).tolist() == [0, 1]


def test_features_are_drawn_in_the_order_of_their_entry(display):
    mpl.use("agg")
    display.plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "c", "b"]
    assert [line.get_xdata()[0] for line in display.ax_.lines] == [400, 950]
    mpl.pyplot.close(display.figure_)


def test_the_page_has_scores_and_what_was_explained_at_each_time(display):
    shown = _timeline(display)
    assert shown["names"] == ["a", "c", "b"]
    assert shown["edges"] == [100, 500, 900, 1000]
    assert shown["scores"] == [[0.3, None, 0.2], [0.2, 0.1, None], [None, 0.4, 0.5]]
    assert [one["value"] for one in shown["explained"]] == [0.5, None, 0.7]


def test_long_streams_are_drawn_with_fewer_times():
    timeline = [
        TimelinePoint(100 * i, np.array([0]), np.array([0.5]), unknown(1)) for i in range(1, 1001)
    ]
    shown = _timeline(TimelineDisplay(timeline, [], 100_100, ["a"]))
    assert len(shown["scores"][0]) == len(shown["explained"]) <= 120


def test_an_alarm_names_what_explains_more_and_less_soon_after_it():
    scores = {2600: [0.4, 0.2], 3000: [0.3, 0.3], 3600: [0.1, 0.6], 9000: [0.7, 0.0]}
    timeline = [
        TimelinePoint(row, np.array([0, 1]), np.array(own), unknown(2))
        for row, own in scores.items()
    ]
    history = [
        Event(2500, "alarm", (), ()),
        Event(2700, "alarm", (1, 2), (0, 3)),
        Event(3000, "choice", (1,), (0,)),
        Event(8000, "shift", (2,), (3,)),
    ]
    display = TimelineDisplay(timeline, history, 9000, list("abcd"))
    stream = SimpleNamespace(history_=history, half_life=500)
    assert _events(stream, list("abcd"), display) == [
        {"row": 2500, "kind": "alarm", "more": [], "less": []},
        {
            "row": 2700,
            "kind": "alarm",
            "more": ["b (20.0% to 60.0%)"],
            "less": ["a (40.0% to 10.0%)"],
        },
        {"row": 3000, "kind": "choice", "more": ["b"], "less": ["a"]},
        {"row": 8000, "kind": "shift", "more": ["c"], "less": ["d"]},
    ]


@pytest.fixture(scope="module")
def changing() -> OnlineFeatureSelector:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 3))
    y = np.where(np.arange(6000) < 4000, X[:, 0], X[:, 1]) + 0.3 * rng.standard_normal(6000)
    return OnlineFeatureSelector(1, half_life=200).partial_fit(X, y)


def test_names_on_the_page_are_text(changing, tmp_path):
    path = tmp_path / "stream.html"
    write_stream_report(changing, path, names=["<b>", "&amp\u202e", "c"])
    page = path.read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "\u202e" not in page
    facts = json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1])
    assert facts["names"] == ["<b>", r"&amp\u202e"]


def test_what_was_explained_falls_where_the_stream_changes(changing):
    explained = {point.row: point.learnability.value for point in changing.timeline_}
    before, after = (max(row for row in explained if row <= last) for last in (4000, 4300))
    assert explained[before] > 0.85 > 0.6 > explained[after]


def test_a_page_can_be_written_before_the_first_decision(tmp_path):
    X = np.random.default_rng(0).standard_normal((5, 2))
    write_stream_report(OnlineFeatureSelector(1).partial_fit(X, X[:, 0]), tmp_path / "page.html")
    assert "1 of 2 features after 5 rows" in (tmp_path / "page.html").read_text()
