"""Learnability against the order of the filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from featgrad.learnability import Estimate, Learnability
from featgrad.report.plots.axes import draw_estimates, drawing_axes

_ORDERS = (1, 2, 3, 4, 5, 6, 8)


class OrderDisplay:
    """Learnability against the order: where it levels off, a higher order sees nothing more.

    Parameters
    ----------
    orders : sequence of int
        Orders of the filter.
    estimates : sequence of Estimate
        What was explained at each.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    line_, band_
        What was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgrad.report import OrderDisplay
    >>> display = OrderDisplay.from_data(*load_diabetes(return_X_y=True), orders=(1, 2, 4))
    >>> display.ax_.get_xlabel()
    'order'
    """

    def __init__(self, orders: Sequence[int], estimates: Sequence[Estimate]) -> None:
        self.orders, self.estimates = orders, estimates

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        features: Any = None,
        orders: Sequence[int] = _ORDERS,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Estimate at each order and draw.

        Parameters
        ----------
        X, y
            As for `Learnability`.
        features : array-like, default=None
            As for `Learnability.estimate`.
        orders : sequence of int, default=(1, 2, 3, 4, 5, 6, 8)
            Orders of the filter. Those that the rows cannot bear are left out.
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.
        **options
            For `Learnability`.

        Returns
        -------
        OrderDisplay
        """
        # An estimate lowers its order where the rows cannot bear it: one point for each order left.
        found = {}
        for order in orders:
            estimate = Learnability(X, y, order=order, **options).estimate(features)
            found[estimate.order] = estimate
        return cls(sorted(found), [found[order] for order in sorted(found)]).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        orders: Sequence[int] = _ORDERS,
        ax: Any = None,
    ) -> Self:
        """Estimate for the features that a fitted selector chose and draw.

        Parameters
        ----------
        estimator : FeatureGradientSelector
            Fitted on X and y.
        X, y
            As for `Learnability`.
        orders : sequence of int, default=(1, 2, 3, 4, 5, 6, 8)
            Orders of the filter.
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.

        Returns
        -------
        OrderDisplay
        """
        options = {name: getattr(estimator, name) for name in ("task", "preprocess", "missing")}
        features = estimator.get_support()
        return cls.from_data(X, y, features=features, orders=orders, ax=ax, **options)

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
        self.line_, self.band_ = draw_estimates(self.ax_, self.orders, self.estimates, **line)
        self.ax_.set_xticks(list(self.orders))
        self.ax_.set_xlabel("order")
        return self
