"""Displays of a selection, drawn with matplotlib."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from featgrad._support import Indices
from featgrad.estimates.estimate import Estimate, unknown
from featgrad.report.text import feature_names

# Ratio of the largest to the smallest size from which sizes are on a logarithmic scale.
LOG_RATIO = 20
# Features that are listed by default.
_MAX_FEATURES = 20
# Inches of a new figure next to the names of features, and for each line of them.
_AXES_WIDTH, _LINE = 4.5, 0.22
_ALARMS = {"alarm": ("tab:red", "--"), "shift": ("tab:orange", ":")}


class Display:
    """Base class of the displays; a subclass has `of`, from an estimator, and `_draw`."""

    ax_: Any
    figure_: Any
    _is_new: bool
    of: Callable[..., Self]
    _draw: Callable[..., None]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw what a fitted selector has found.

        Parameters
        ----------
        estimator : FeatureGradientSelector or OnlineFeatureSelector
            Fitted; `StabilityDisplay` needs `n_resamples`, `TimelineDisplay` an
            `OnlineFeatureSelector`.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            As for `plot`.

        Returns
        -------
        Display
        """
        check_is_fitted(estimator)
        return cls.of(estimator).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            Where features are listed, `max_features`, the number of features to show, 20 by
            default; else for matplotlib's `plot`.

        Returns
        -------
        self
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("Plots need matplotlib: pip install 'featgrad[plot]'.") from None
        self._is_new = ax is None
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(**options)
        return self

    def _list_features(self, names: Sequence[str]) -> None:
        """Name the rows from top to bottom; a new figure grows with the names."""
        self.ax_.set_yticks(range(len(names)), names, parse_math=False)
        self.ax_.invert_yaxis()
        if self._is_new and names:
            boxes = [label.get_window_extent() for label in self.ax_.get_yticklabels()]
            longest = max(box.width for box in boxes) / self.figure_.dpi
            width, height = self.figure_.get_size_inches()
            self.figure_.set_size_inches(
                max(width, longest + _AXES_WIDTH), max(height, 1 + _LINE * len(names))
            )


class PathDisplay(Display):
    """Learnability against the number of features, with its interval and the selected size.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of features.
    estimates : sequence of Estimate
        Estimate at each of them.
    chosen : int or None, default=None
        The selected size.

    Attributes
    ----------
    ax_, figure_
        The axes and their figure.
    line_, band_, chosen_
        The matplotlib artists; `chosen_` is None if no size is marked.

    Examples
    --------
    >>> from featgrad import Estimate
    >>> from featgrad.report import PathDisplay
    >>> display = PathDisplay([1, 2], [Estimate(0.4, 0.1, 1, 4), Estimate(0.5, 0.1, 2, 4)])
    >>> display.plot().ax_.get_xlabel()
    'number of features'
    """

    def __init__(
        self, sizes: Sequence[int], estimates: Sequence[Estimate], chosen: int | None = None
    ) -> None:
        self.sizes, self.estimates, self.chosen = sizes, estimates, chosen

    @classmethod
    def of(cls, estimator: Any) -> Self:
        sizes = [point.size for point in estimator.path_]
        estimates = [point.learnability or unknown(point.size) for point in estimator.path_]
        return cls(sizes, estimates, estimator.n_features_)

    def _draw(self, **line: Any) -> None:
        low, high = zip(*(estimate.interval for estimate in self.estimates), strict=True)
        values = [estimate.value for estimate in self.estimates]
        (self.line_,) = self.ax_.plot(self.sizes, values, **({"marker": "o"} | line))
        band = {"color": self.line_.get_color(), "alpha": 0.2, "linewidth": 0}
        self.band_ = self.ax_.fill_between(self.sizes, low, high, **band)
        self.ax_.set_ylabel("explained fraction")
        self.chosen_ = None
        if self.chosen is not None:
            label = f"chosen: {self.chosen}"
            self.chosen_ = self.ax_.axvline(self.chosen, color="C1", linestyle="--", label=label)
            self.ax_.legend()
        if max(self.sizes) >= LOG_RATIO * max(min(self.sizes), 1):
            self._spread_sizes(0 in self.sizes)
        self.ax_.set_xlabel("number of features")

    def _spread_sizes(self, has_none: bool) -> None:
        """Logarithmic, with sizes written out; no features at all have a place, too."""
        from matplotlib.ticker import LogLocator, NullLocator

        self.ax_.set_xscale("symlog" if has_none else "log")
        self.ax_.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        self.ax_.xaxis.set_minor_locator(NullLocator())
        self.ax_.xaxis.set_major_formatter("{x:g}")


class StabilityDisplay(Display):
    """Share of resamples in which each feature was chosen, the most frequent first.

    Parameters
    ----------
    frequencies : array-like
        Share of resamples for each feature.
    names : sequence of str
        Names of the features.
    chosen : array-like of bool
        Which features were selected from all rows.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    ax_, figure_
        The axes and their figure.
    bars_
        The matplotlib bars.

    Examples
    --------
    >>> from featgrad.report import StabilityDisplay
    >>> display = StabilityDisplay([0.2, 1.0], ["weight", "height"], [False, True]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['height', 'weight']
    """

    def __init__(
        self, frequencies: ArrayLike, names: Sequence[str], chosen: ArrayLike, title: str = ""
    ) -> None:
        self.frequencies = np.asarray(frequencies, dtype=np.float64)
        self.names, self.chosen, self.title = names, np.asarray(chosen, dtype=bool), title

    @classmethod
    def of(cls, estimator: Any) -> Self:
        stability = estimator.stability_
        if stability is None:
            raise ValueError("estimator was fitted with n_resamples=0: use 2 or more, such as 20.")
        low, high = stability.interval
        title = f"stability {stability.index:.2f} ({low:.2f} to {high:.2f})"
        return cls(stability.frequencies, feature_names(estimator), estimator.get_support(), title)

    def _draw(self, *, max_features: int = _MAX_FEATURES) -> None:
        shown = np.argsort(-self.frequencies, kind="stable")[:max_features]
        colours = np.where(self.chosen[shown], "C0", "lightgray")
        self.bars_ = self.ax_.barh(np.arange(len(shown)), self.frequencies[shown], color=colours)
        self._list_features([self.names[i] for i in shown])
        self.ax_.set_xlim(0, 1)
        self.ax_.set_xlabel("share of resamples (blue: chosen)")
        self.ax_.set_title(self.title)


class TimelineDisplay(Display):
    """Features against rows of a stream: how much each one mattered while chosen, and alarms.

    Parameters
    ----------
    timeline : sequence of TimelinePoint
        As `OnlineFeatureSelector.timeline_`.
    alarms : sequence of Event
        As `OnlineFeatureSelector.alarms_`.
    n_rows : int
        Rows of the stream until now.
    names : sequence of str
        Names of the features.

    Attributes
    ----------
    features : ndarray of int
        Features that were ever chosen, in the order in which they entered.
    scores : ndarray of shape (features, decisions)
        Explained fraction that would have been lost without each; NaN while it was not chosen.
    explained : list of Estimate
        Explained fraction at each decision.
    edges : ndarray of shape (decisions + 1,)
        Rows of the decisions, and the present one.
    ax_, figure_
        The axes and their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import OnlineFeatureSelector
    >>> from featgrad.report import TimelineDisplay
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> selector = OnlineFeatureSelector(1).partial_fit(X, X[:, 2])
    >>> display = TimelineDisplay(selector.timeline_, selector.alarms_, 300, list("abcd"))
    >>> display.features, display.edges
    (array([2]), array([100, 200, 300]))
    """

    def __init__(
        self, timeline: Sequence[Any], alarms: Sequence[Any], n_rows: int, names: Sequence[str]
    ) -> None:
        self.names, self.alarms = names, alarms
        self.explained = [decision.learnability for decision in timeline]
        self.edges = np.array([*(decision.row for decision in timeline), n_rows])
        order = dict.fromkeys(f for decision in timeline for f in decision.features.tolist())
        self.features = np.array(list(order), np.intp)
        places = {feature: place for place, feature in enumerate(order)}
        self.scores = np.full((len(order), len(timeline)), np.nan)
        for column, decision in enumerate(timeline):
            own = [places[feature] for feature in decision.features.tolist()]
            self.scores[own, column] = decision.scores

    @classmethod
    def of(cls, estimator: Any, names: Sequence[str] | None = None) -> Self:
        names = feature_names(estimator) if names is None else names
        return cls(estimator.timeline_, estimator.alarms_, estimator.n_rows_seen_, names)

    def longest(self, count: int) -> Indices:
        """Places of the features that were chosen for longest, in the order of their entry."""
        lengths = np.isfinite(self.scores) @ np.diff(self.edges)
        return np.sort(np.argsort(-lengths, kind="stable")[:count])

    def _draw(self, max_features: int = _MAX_FEATURES) -> None:
        shown = self.longest(max_features)
        heights = np.arange(len(shown) + 1) - 0.5
        mesh = self.ax_.pcolormesh(self.edges, heights, self.scores[shown], vmin=0, cmap="Blues")
        self.figure_.colorbar(mesh, ax=self.ax_, label="lost without it")
        for alarm in self.alarms:
            colour, style = _ALARMS[alarm.kind]
            self.ax_.axvline(alarm.row, color=colour, linestyle=style, linewidth=1)
        self._list_features([self.names[feature] for feature in self.features[shown]])
        self.ax_.set_xlim(0, self.edges[-1])
        self.ax_.set_xlabel("rows")
