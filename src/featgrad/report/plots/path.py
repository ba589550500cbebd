"""Learnability against the number of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from featgrad.learnability import Estimate
from featgrad.report.plots.axes import draw_estimates, drawing_axes

# Ratio of the largest to the smallest size from which sizes are drawn on a logarithmic scale.
_WIDE = 20


class PathDisplay:
    """Learnability against the number of features, with its interval and the size taken.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of features.
    estimates : sequence of Estimate
        What was explained at each.
    chosen : int or None, default=None
        The size taken.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    line_, band_, chosen_
        What was drawn; `chosen_` is None where no size is marked.

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
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **line: Any) -> Self:
        """Draw the path of a fitted selector.

        Parameters
        ----------
        estimator : FeatureGradientSelector
            Fitted, with a `path_`.
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.
        **line
            For matplotlib's `plot`.

        Returns
        -------
        PathDisplay
        """
        check_is_fitted(estimator, "path_")
        sizes = [point.size for point in estimator.path_]
        estimates = [point.learnability for point in estimator.path_]
        return cls(sizes, estimates, estimator.n_features_).plot(ax, **line)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.
        **line
            For matplotlib's `plot`.

        Returns
        -------
        self
        """
        self.ax_ = drawing_axes(ax)
        self.figure_ = self.ax_.figure
        self.line_, self.band_ = draw_estimates(self.ax_, self.sizes, self.estimates, **line)
        self.chosen_ = None
        if self.chosen is not None:
            label = f"chosen: {self.chosen}"
            self.chosen_ = self.ax_.axvline(self.chosen, color="C1", linestyle="--", label=label)
            self.ax_.legend()
        if max(self.sizes) / min(self.sizes) >= _WIDE:
            self._spread_sizes()
        self.ax_.set_xlabel("number of features")
        return self

    def _spread_sizes(self) -> None:
        """Logarithmic, with sizes written out."""
        from matplotlib.ticker import LogLocator, NullLocator

        self.ax_.set_xscale("log")
        self.ax_.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        self.ax_.xaxis.set_minor_locator(NullLocator())
        self.ax_.xaxis.set_major_formatter("{x:g}")
