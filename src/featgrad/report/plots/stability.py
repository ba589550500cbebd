"""How often each feature was chosen over resamples of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from featgrad.report.plots.axes import drawing_axes, feature_names


class StabilityDisplay:
    """Share of resamples in which each feature was chosen, the most frequent first.

    Parameters
    ----------
    frequencies : array-like
        Share of resamples for each feature.
    names : sequence of str
        Names of the features.
    chosen : array-like of bool
        Which features were chosen from all rows.
    title : str, default=""
        What is written above.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    bars_
        What was drawn.

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
    def from_estimator(cls, estimator: Any, *, max_features: int = 30, ax: Any = None) -> Self:
        """Draw the stability of a fitted selector.

        Parameters
        ----------
        estimator : FeatureGradientSelector
            Fitted with `n_resamples`, hence with a `stability_`.
        max_features : int, default=30
            How many features are shown.
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.

        Returns
        -------
        StabilityDisplay
        """
        check_is_fitted(estimator, "stability_")
        stability = estimator.stability_
        if stability is None:
            raise ValueError("estimator was fitted with n_resamples=0: use 2 or more, such as 20.")
        low, high = stability.interval
        title = f"stability {stability.index:.2f} ({low:.2f} to {high:.2f})"
        names, chosen = feature_names(estimator), estimator.get_support()
        return cls(stability.frequencies, names, chosen, title).plot(ax, max_features=max_features)

    def plot(self, ax: Any = None, *, max_features: int = 30) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.
        max_features : int, default=30
            How many features are shown.

        Returns
        -------
        self
        """
        self.ax_ = drawing_axes(ax)
        self.figure_ = self.ax_.figure
        shown = np.argsort(-self.frequencies, kind="stable")[:max_features]
        colours = np.where(self.chosen[shown], "C0", "lightgray")
        height = np.arange(len(shown))
        self.bars_ = self.ax_.barh(height, self.frequencies[shown], color=colours)
        self.ax_.set_yticks(height, [self.names[i] for i in shown])
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(0, 1)
        self.ax_.set_xlabel("share of resamples (blue: chosen)")
        self.ax_.set_title(self.title)
        return self
