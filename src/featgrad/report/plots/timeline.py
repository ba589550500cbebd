"""Display of which features were chosen when, on a stream."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featgrad.arrays import Indices
from featgrad.report.plots.axes import MAX_FEATURES, Display, feature_names

_ALARMS = {"alarm": ("tab:red", "--"), "shift": ("tab:orange", ":")}


class TimelineDisplay(Display):
    """Features against rows of a stream: how much each one mattered while chosen, and alarms.

    Parameters
    ----------
    timeline : sequence of Decision
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
        self.edges = np.array([*(decision.row for decision in timeline), n_rows])
        order = dict.fromkeys(f for decision in timeline for f in decision.features.tolist())
        self.features = np.array(list(order), np.intp)
        places = {feature: place for place, feature in enumerate(order)}
        self.scores = np.full((len(order), len(timeline)), np.nan)
        for column, decision in enumerate(timeline):
            own = [places[feature] for feature in decision.features.tolist()]
            self.scores[own, column] = decision.scores

    @classmethod
    def from_estimator(cls, selector: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the history of an `OnlineFeatureSelector`.

        Parameters
        ----------
        selector : OnlineFeatureSelector
            One that has seen rows.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            As for `plot`.

        Returns
        -------
        TimelineDisplay
        """
        return cls.of(selector, feature_names(selector)).plot(ax, **options)

    @classmethod
    def of(cls, selector: Any, names: Sequence[str]) -> Self:
        check_is_fitted(selector)
        return cls(selector.timeline_, selector.alarms_, selector.n_rows_seen_, names)

    def longest(self, count: int) -> Indices:
        """Places of the features that were chosen for longest, in the order of their entry."""
        lengths = np.isfinite(self.scores) @ np.diff(self.edges)
        return np.sort(np.argsort(-lengths, kind="stable")[:count])

    def _draw(self, max_features: int = MAX_FEATURES) -> None:
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
