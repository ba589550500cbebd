"""The timeline of a stream, as a plot and as a page."""

import matplotlib as mpl
import numpy as np
import pytest

from featgrad import OnlineFeatureSelector
from featgrad.online.history import Event, TimelinePoint
from featgrad.report import TimelineDisplay, write_stream_report
from featgrad.report.pages import draw_timeline

TIMELINE = [
    TimelinePoint(100, np.array([0, 2]), np.array([0.3, 0.2])),
    TimelinePoint(500, np.array([1, 2]), np.array([0.4, 0.1])),
    TimelinePoint(900, np.array([0, 1]), np.array([0.2, 0.5])),
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


def test_page_has_one_rectangle_for_each_time_at_which_a_feature_was_chosen(display):
    drawn = draw_timeline(display)
    assert drawn.count("<rect") == np.isfinite(display.scores).sum()
    assert drawn.count('<line class="chosen"') == len(ALARMS)
    # Of the strongest score, and of half of it above the faintest colour.
    assert 'fill-opacity="1.00"><title>b, row 900: 50.0%' in drawn
    assert 'fill-opacity="0.46"><title>c, row 100: 20.0%' in drawn


def test_long_streams_are_drawn_with_fewer_times():
    timeline = [TimelinePoint(100 * i, np.array([0]), np.array([0.5])) for i in range(1, 1001)]
    display = TimelineDisplay(timeline, [], 100_100, ["a"])
    assert draw_timeline(display).count("<rect") <= 120


def test_names_on_the_page_are_text(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 3))
    y = np.where(np.arange(6000) < 4000, X[:, 0], X[:, 1]) + 0.3 * rng.standard_normal(6000)
    selector = OnlineFeatureSelector(1, half_life=200).partial_fit(X, y)
    path = tmp_path / "stream.html"
    write_stream_report(selector, path, names=["<b>", "&amp", "c"])
    page = path.read_text(encoding="utf-8")
    assert "<b>," not in page
    came, went = '<td data-label="Came">&amp;<wbr>amp</td>', '<td data-label="Went">&lt;b&gt;</td>'
    assert f"predictions became worse</td>{came}{went}" in page


def test_names_on_the_page_are_never_cut(tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 3))
    selector = OnlineFeatureSelector(1).partial_fit(X, X[:, 1])
    name = "a_name_of_many_words_that_goes_on_for_longer_than_most"
    write_stream_report(selector, tmp_path / "report.html", names=["a", name, "c"])
    page = (tmp_path / "report.html").read_text()
    assert f">{name}</text>" in page
    assert f"<td>{name.replace('_', '_<wbr>')}</td>" in page


def test_a_page_can_be_written_before_the_first_decision(tmp_path):
    X = np.random.default_rng(0).standard_normal((5, 2))
    write_stream_report(OnlineFeatureSelector(1).partial_fit(X, X[:, 0]), tmp_path / "page.html")
    assert "1 of 2 features after 5 rows" in (tmp_path / "page.html").read_text()
