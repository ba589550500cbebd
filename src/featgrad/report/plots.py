"""Displays of a selection, drawn with matplotlib."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from featgrad._support import Indices
from featgrad._support.wording import name_of
from featgrad.estimates.estimate import Estimate, unknown

# Ratio of the largest to the smallest size from which sizes are on a logarithmic scale.
LOG_RATIO = 20
# Features that are listed by default.
_MAX_FEATURES = 20
# Inches of a new figure next to the names of features, and for each line of them.
_AXES_WIDTH, _LINE = 4.7, 0.22
_ALARMS = {"alarm": ("tab:red", "--"), "shift": ("tab:orange", ":")}


def _percents() -> Any:
    """Shares as percentages along an axis."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda share, _: f"{100 * share:z.6g}%")


class Display:
    """Base class of the displays; a subclass has `of`, from a result, and `_draw`."""

    ax_: Any
    figure_: Any
    _is_new: bool
    _result: str  # the attribute of an estimator that is drawn
    of: Callable[..., Self]
    _draw: Callable[..., None]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw what a fitted selector has found.

        Parameters
        ----------
        estimator : FeatureGradientSelector or OnlineFeatureSelector
            Fitted; `TimelineDisplay` needs an `OnlineFeatureSelector`.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            As for `plot`.

        Returns
        -------
        Display
        """
        check_is_fitted(estimator)
        if (result := getattr(estimator, cls._result)) is None:
            raise ValueError(f"estimator has no {cls._result}: fit it with estimate=True.")
        display = cls.of(result)
        display._mark(estimator)
        return display.plot(ax, **options)

    def _mark(self, estimator: Any) -> None:
        """Take over what was chosen."""

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
            With its axes and figure in `ax_` and `figure_`.
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

    _result = "path_"

    @classmethod
    def of(cls, path: Any) -> Self:
        sizes = [point.size for point in path]
        return cls(sizes, [point.learnability or unknown(point.size) for point in path])

    def _mark(self, estimator: Any) -> None:
        self.chosen = estimator.n_features_

    def _draw(self, **line: Any) -> None:
        low, high = zip(*(estimate.interval for estimate in self.estimates), strict=True)
        values = [estimate.value for estimate in self.estimates]
        (self.line_,) = self.ax_.plot(self.sizes, values, **({"marker": "o"} | line))
        band = {"color": self.line_.get_color(), "alpha": 0.2, "linewidth": 0}
        self.band_ = self.ax_.fill_between(self.sizes, low, high, **band)
        self.ax_.set_ylabel("explained")
        self.ax_.yaxis.set_major_formatter(_percents())
        self.chosen_ = None
        if self.chosen is not None:
            label = f"chosen: {self.chosen}"
            self.chosen_ = self.ax_.axvline(self.chosen, color="C1", linestyle="--", label=label)
            self.ax_.legend()
        self._spread_sizes()
        self.ax_.set_xlabel("number of features")

    def _spread_sizes(self) -> None:
        """Whole numbers; far ones logarithmic, where no features at all have a place, too."""
        from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

        axis, is_far = self.ax_.xaxis, max(self.sizes) >= LOG_RATIO * max(min(self.sizes), 1)
        if is_far:
            self.ax_.set_xscale("symlog" if 0 in self.sizes else "log")
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter("{x:g}")
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)) if is_far else MaxNLocator(integer=True))


class FeaturesDisplay(Display):
    """A bar for each feature, the longest first, with its error: gains, stability, discoveries.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    values : array-like
        Lengths of the bars.
    errors : array-like or None, default=None
        Standard errors of the values.
    chosen : array-like of bool or None, default=None
        Which features were chosen; others are grey.
    label, title : str, default=""
        What the values are, and the title of the plot.

    Attributes
    ----------
    bars_
        The matplotlib bars.

    Examples
    --------
    >>> from featgrad.report import FeaturesDisplay
    >>> display = FeaturesDisplay(["weight", "height"], [0.2, 1.0]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['height', 'weight']
    """

    _result = "gains_"

    def __init__(
        self,
        names: Sequence[str],
        values: ArrayLike,
        errors: ArrayLike | None = None,
        chosen: ArrayLike | None = None,
        label: str = "",
        title: str = "",
    ) -> None:
        self.names, self.label, self.title = names, label, title
        self.values = np.asarray(values, dtype=np.float64)
        self.errors = np.zeros(len(names)) if errors is None else np.asarray(errors)
        self.chosen = np.ones(len(names), bool) if chosen is None else np.asarray(chosen, bool)

    @classmethod
    def of(cls, result: Any) -> Self:
        return cls(**result._bars())

    def _draw(self, *, max_features: int = _MAX_FEATURES) -> None:
        shown = np.argsort(-self.values, kind="stable")[:max_features]
        options: dict[str, Any] = {"color": np.where(self.chosen[shown], "C0", "lightgray")}
        if self.errors.any():
            options |= {"xerr": self.errors[shown], "ecolor": "gray"}
        self.bars_ = self.ax_.barh(np.arange(len(shown)), self.values[shown], **options)
        self._list_features([self.names[i] for i in shown])
        self.ax_.set_xlabel(self.label)
        if self.label.startswith("share"):
            self.ax_.xaxis.set_major_formatter(_percents())
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
    names : sequence of str or None
        Names of the features.

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
        self, timeline: Sequence[Any], alarms: Sequence[Any], n_rows: int, names: Any
    ) -> None:
        self.names, self.alarms = names, alarms
        self.explained = [decision.learnability for decision in timeline]
        # Rows of the decisions, and the present one.
        self.edges = np.array([*(decision.row for decision in timeline), n_rows])
        # Features that were ever chosen, in the order in which they entered.
        order = dict.fromkeys(f for decision in timeline for f in decision.features.tolist())
        self.features = np.array(list(order), np.intp)
        places = {feature: place for place, feature in enumerate(order)}
        # What would have been lost without each; NaN while it was not chosen.
        self.scores = np.full((len(order), len(timeline)), np.nan)
        for column, decision in enumerate(timeline):
            own = [places[feature] for feature in decision.features.tolist()]
            self.scores[own, column] = decision.scores

    _result = "timeline_"

    @classmethod
    def of(cls, timeline: Any) -> Self:
        return cls(timeline, timeline.alarms, timeline.n_rows, timeline.names)

    def longest(self, count: int) -> Indices:
        """Places of the features that were chosen for longest, in the order of their entry."""
        lengths = np.isfinite(self.scores) @ np.diff(self.edges)
        return np.sort(np.argsort(-lengths, kind="stable")[:count])

    def _draw(self, max_features: int = _MAX_FEATURES) -> None:
        shown = self.longest(max_features)
        heights = np.arange(len(shown) + 1) - 0.5
        mesh = self.ax_.pcolormesh(self.edges, heights, self.scores[shown], vmin=0, cmap="Blues")
        self.figure_.colorbar(mesh, ax=self.ax_, label="lost without it", format=_percents())
        for alarm in self.alarms:
            colour, style = _ALARMS[alarm.kind]
            self.ax_.axvline(alarm.row, color=colour, linestyle=style, linewidth=1)
        self._list_features([name_of(self.names, feature) for feature in self.features[shown]])
        self.ax_.set_xlim(0, self.edges[-1])
        self.ax_.set_xlabel("rows")
