"""Displays draw what they were given, on the axes they were given."""

import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import featgrad
from featgrad import (
    Estimate,
    FeatureGradientSelector,
    Knockoffs,
    OnlineFeatureSelector,
    SelectionPath,
    Stability,
)
from featgrad.construct.features import ConstructedFeature, ConstructedFeatures
from featgrad.estimates.estimate import unknown
from featgrad.online.history import TimelinePoint
from featgrad.report import FeaturesDisplay, PathDisplay, TimelineDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="no matplotlib: pip install featgrad[plot]")
PathPoint = namedtuple("PathPoint", "size features learnability")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).standard_normal((120, 6))
    return X, X[:, 0] + X[:, 4] + 0.5 * X[:, 5]


@pytest.fixture
def selector(table):
    return FeatureGradientSelector(2, random_state=0).fit(*table)


def ticks(labels) -> list[str]:
    return [label.get_text() for label in labels]


def test_path_shows_values_intervals_and_the_size_taken(selector):
    estimates = [Estimate(0.1 * k, 0.01, k, 4) for k in (1, 2, 3)]
    selector.path_ = SelectionPath(PathPoint(e.n_features, None, e) for e in estimates)
    display = PathDisplay.from_estimator(selector)
    np.testing.assert_allclose(display.line_.get_xydata(), [[1, 0.1], [2, 0.2], [3, 0.3]])
    assert list(display.chosen_.get_xdata()) == [2, 2]
    corners = display.band_.get_paths()[0].vertices
    for estimate in estimates:
        heights = corners[corners[:, 0] == estimate.n_features, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], estimate.interval)


@pytest.mark.parametrize(("largest", "scale"), [(5, "linear"), (50, "log")])
def test_wide_paths_are_logarithmic(largest, scale):
    display = PathDisplay([1, largest], [Estimate(0.1, 0.1, 1, 4)] * 2).plot()
    assert display.ax_.get_xscale() == scale


def test_a_path_with_no_features_at_all_is_drawn(selector):
    estimates = [Estimate(0.0, 0.0, 0), Estimate(0.1, 0.1, 30)]
    selector.path_ = SelectionPath(PathPoint(e.n_features, None, e) for e in estimates)
    display = PathDisplay.from_estimator(selector)
    np.testing.assert_allclose(display.line_.get_xydata(), [[0, 0], [30, 0.1]])
    display.figure_.canvas.draw()


def test_the_path_of_a_fit_that_chose_nothing_is_drawn():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="No features were selected"):
        selector = FeatureGradientSelector(random_state=0).fit(
            rng.normal(size=(200, 40)), rng.normal(size=200)
        )
    display = PathDisplay.from_estimator(selector)
    assert list(display.chosen_.get_xdata()) == [0, 0]
    display.figure_.canvas.draw()


def test_a_path_without_estimates_is_drawn_as_unknown(table):
    selector = FeatureGradientSelector(2, estimate=False, random_state=0).fit(*table)
    assert np.isnan(PathDisplay.from_estimator(selector).line_.get_ydata()).all()


@pytest.mark.parametrize("display", [PathDisplay, FeaturesDisplay])
def test_a_selector_without_what_is_shown_is_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(FeatureGradientSelector(2))


def test_a_selector_without_gains_is_refused_by_a_line(table):
    selector = FeatureGradientSelector(2, estimate=False, random_state=0).fit(*table)
    with pytest.raises(ValueError, match="has no gains_: fit it with estimate=True"):
        FeaturesDisplay.from_estimator(selector)


def test_stability_puts_the_most_frequent_first():
    frequencies = np.array([0.9, 0.1, 0.3, 0.2, 1.0, 0.5])
    stability = Stability(frequencies, 0.8, (0.7, 0.9), 2, 6, 2.0)
    display = stability.plot(max_features=3)
    assert ticks(display.ax_.get_yticklabels()) == ["x4", "x0", "x5"]
    assert [bar.get_width() for bar in display.bars_] == [1.0, 0.9, 0.5]
    assert display.ax_.get_title() == "stability 0.80 (0.70 to 0.90)"


def test_gains_are_bars_with_errors(selector):
    display = selector.gains_.plot()
    best = np.argsort(-selector.gains_.values)
    expected = [f"x{i}" for i in selector.gains_.features[best]]
    assert ticks(display.ax_.get_yticklabels()) == expected
    assert [bar.get_width() for bar in display.bars_] == sorted(selector.gains_.values)[::-1]
    (errors,) = display.bars_.errorbar[2]
    halves = [np.ptp(segment[:, 0]) / 2 for segment in errors.get_segments()]
    np.testing.assert_allclose(halves, selector.gains_.standard_errors[best])


def test_discoveries_mark_what_is_chosen():
    X = np.random.default_rng(0).standard_normal((400, 12))
    y = X[:, :8] @ np.ones(8)
    found = FeatureGradientSelector(search=Knockoffs(fdr=0.2), random_state=0).fit(X, y)
    display = found.discoveries_.plot()
    colours = [bar.get_facecolor() for bar in display.bars_]
    assert len(set(colours)) == 2
    assert colours[0] != colours[-1]


def test_constructed_features_draw_their_gains():
    one = ConstructedFeature("a * b", "product", ["a", "b"], 0.2, 0.1, 0.01)
    display = ConstructedFeatures([one]).plot()
    assert ticks(display.ax_.get_yticklabels()) == ["a * b"]
    assert [bar.get_width() for bar in display.bars_] == [0.1]


def test_a_path_and_a_timeline_draw_themselves(selector):
    assert selector.path_.plot().chosen_ is None
    X = np.random.default_rng(0).standard_normal((300, 4))
    timeline = OnlineFeatureSelector(1).partial_fit(X, X[:, 2]).timeline_
    assert ticks(timeline.plot().ax_.get_yticklabels()) == ["x2"]


def lists_of_features(count: int, length: int) -> list:
    """Each display that lists features, with long names."""
    names = [f"{i:02d}{'W' * (length - 2)}" for i in range(count)]
    decision = TimelinePoint(0, np.arange(count), np.ones(count), unknown(count))
    return [
        FeaturesDisplay(names, np.linspace(1, 0, count)),
        TimelineDisplay([decision], [], 100, names),
    ]


@pytest.mark.parametrize("length", [5, 120])
@pytest.mark.parametrize("place", range(2))
def test_names_are_never_cut(place, length):
    display = lists_of_features(30, length)[place].plot(max_features=30)
    display.figure_.draw_without_rendering()
    figure = display.figure_.bbox
    for label in display.ax_.get_yticklabels():
        box = label.get_window_extent()
        assert figure.x0 <= box.x0 < box.x1 <= figure.x1
        assert figure.y0 <= box.y0 < box.y1 <= figure.y1
    assert display.ax_.get_window_extent().width > 300
    rows = sorted(label.get_window_extent().y0 for label in display.ax_.get_yticklabels())
    assert min(np.diff(rows)) > label.get_window_extent().height


@pytest.mark.parametrize("place", range(2))
def test_twenty_features_are_listed_by_default(place):
    display = lists_of_features(30, 5)[place].plot()
    assert len(display.ax_.get_yticklabels()) == 20


def test_names_are_no_formulas():
    display = FeaturesDisplay(["$a_b$ and \\x"], [1.0]).plot()
    display.figure_.draw_without_rendering()
    assert ticks(display.ax_.get_yticklabels()) == ["$a_b$ and \\x"]
    assert not display.ax_.get_yticklabels()[0].get_parse_math()


def test_displays_draw_on_given_axes(selector):
    figure, ax = plt.subplots()
    display = PathDisplay.from_estimator(selector, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_matplotlib_is_imported_by_drawing_only():
    code = "import sys, featgrad.report; print('matplotlib' in sys.modules)"
    path = {"PYTHONPATH": str(Path(featgrad.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_missing_matplotlib_is_answered_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"featgrad\[plot\]"):
        PathDisplay([1], [Estimate(0.1, 0.1, 1)]).plot()


def test_sizes_are_whole_numbers_and_shares_percentages():
    display = PathDisplay([1, 2, 3], [Estimate(share, 0.01, 1) for share in (0.2, 0.3, 0.35)])
    display.plot().figure_.draw_without_rendering()
    across, upwards = (
        [label.get_text() for label in axis.get_ticklabels()]
        for axis in (display.ax_.xaxis, display.ax_.yaxis)
    )
    assert {"1", "2", "3"} <= set(across)
    assert all(float(text.replace("\N{MINUS SIGN}", "-")).is_integer() for text in across)
    assert "20%" in upwards
