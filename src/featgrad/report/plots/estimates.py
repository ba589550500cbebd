"""Displays of estimates against the number of features and against the order."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from featgrad.estimate import Estimate, unknown
from featgrad.explained_variance import Learnability
from featgrad.report.plots.axes import LOG_RATIO, Display, draw_estimates

_ORDERS = (1, 2, 3, 4, 5, 6, 8)


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
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **line: Any) -> Self:
        """Draw the path of a fitted selector.

        Parameters
        ----------
        estimator : FeatureGradientSelector
            Fitted, with a `path_`.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **line
            For matplotlib's `plot`.

        Returns
        -------
        PathDisplay
        """
        check_is_fitted(estimator, "path_")
        sizes = [point.size for point in estimator.path_]
        estimates = [point.learnability or unknown(point.size) for point in estimator.path_]
        return cls(sizes, estimates, estimator.n_features_).plot(ax, **line)

    def _draw(self, **line: Any) -> None:
        self.line_, self.band_ = draw_estimates(self.ax_, self.sizes, self.estimates, **line)
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


class OrderDisplay(Display):
    """Learnability against the order of the filter; a plateau means the order suffices.

    Parameters
    ----------
    orders : sequence of int
        Orders of the filter.
    estimates : sequence of Estimate
        Estimate at each of them.

    Attributes
    ----------
    ax_, figure_
        The axes and their figure.
    line_, band_
        The matplotlib artists.

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
            Orders of the filter. Those too noisy for the number of rows are left out.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            For `Learnability`.

        Returns
        -------
        OrderDisplay
        """
        # An estimate that is too noisy lowers its order: one point for each remaining order.
        found: dict[int, Estimate] = {}
        for order in orders:
            data = Learnability(X, y, order=order, **{"filter": "chebyshev"} | options)
            estimate = data.estimate(features)
            if estimate.order is not None:
                found[estimate.order] = estimate
        return cls(sorted(found), [found[order] for order in sorted(found)]).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, orders: Sequence[int] = _ORDERS, ax: Any = None
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
            Axes to draw on; None creates new ones.

        Returns
        -------
        OrderDisplay
        """
        options = {name: getattr(estimator, name) for name in ("preprocess", "missing")}
        options["task"] = estimator.task_
        features = estimator.get_support()
        return cls.from_data(X, y, features=features, orders=orders, ax=ax, **options)

    def _draw(self, **line: Any) -> None:
        self.line_, self.band_ = draw_estimates(self.ax_, self.orders, self.estimates, **line)
        self.ax_.set_xticks(list(self.orders))
        self.ax_.set_xlabel("order")
