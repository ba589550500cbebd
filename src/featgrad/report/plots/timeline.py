"""Display of which features were chosen when, on a stream."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from featgrad.report.plots.axes import MAX_FEATURES, Display, feature_names


class TimelineDisplay(Display):
    """Features against rows of a stream: when each one was in the set, and alarms.

    Parameters
    ----------
    events : sequence of Event
        Those of `OnlineFeatureSelector.history_`.
    n_rows : int
        Rows of the stream until now.
    names : sequence of str
        Names of the features.

    Attributes
    ----------
    spans : dict of int to list of tuple of int
        For each feature that was ever chosen, the rows from which and up to which it was.
    alarms : list of int
        Rows of the alarms.
    ax_, figure_
        The axes and their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import OnlineFeatureSelector
    >>> from featgrad.report import TimelineDisplay
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> selector = OnlineFeatureSelector(1).partial_fit(X, X[:, 2])
    >>> TimelineDisplay(selector.history_, 300, list("abcd")).spans
    {2: [(100, 300)]}
    """

    def __init__(self, events: Sequence[Any], n_rows: int, names: Sequence[str]) -> None:
        self.names, self.n_rows = names, n_rows
        self.alarms = [event.row for event in events if event.kind == "alarm"]
        self.spans: dict[int, list[tuple[int, int]]] = {}
        since: dict[int, int] = {}
        for event in events:
            if event.kind != "choice":
                continue
            for feature in event.left:
                # One whose entry is forgotten was there from the start.
                self._add(feature, since.pop(feature, 0), event.row)
            since |= dict.fromkeys(event.entered, event.row)
        for feature, row in since.items():
            self._add(feature, row, n_rows)

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
        check_is_fitted(selector)
        display = cls(selector.history_, selector.n_rows_seen_, feature_names(selector))
        return display.plot(ax, **options)

    def _add(self, feature: int, start: int, stop: int) -> None:
        self.spans.setdefault(feature, []).append((start, stop))

    def _draw(self, max_features: int = MAX_FEATURES) -> None:
        """Features that were in the set for longest, those that entered first on top."""
        length = {f: sum(stop - start for start, stop in own) for f, own in self.spans.items()}
        longest = sorted(length, key=lambda f: -length[f])[:max_features]
        shown = sorted(longest, key=lambda f: self.spans[f][0])
        for place, feature in enumerate(shown):
            widths = [(start, stop - start) for start, stop in self.spans[feature]]
            self.ax_.broken_barh(widths, (place - 0.4, 0.8))
        for row in self.alarms:
            self.ax_.axvline(row, color="tab:red", linestyle="--", linewidth=1)
        self._list_features([self.names[feature] for feature in shown])
        self.ax_.set_xlim(0, self.n_rows)
        self.ax_.set_xlabel("rows")
