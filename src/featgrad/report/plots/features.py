"""Displays of selected features."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from featgrad.report.plots.axes import MAX_FEATURES, Display, feature_names


class ComparisonDisplay(Display):
    """Which features two selections share and which only one of them has.

    Parameters
    ----------
    first, second : array-like of bool
        The two selections, one entry per feature.
    names : sequence of str
        Names of the features.
    labels : tuple of str, default=("first", "second")
        Names of the selections.

    Attributes
    ----------
    overlap : float
        Jaccard index of the selections.
    ax_, figure_
        The axes and their figure.
    dots_
        The matplotlib collection.

    Examples
    --------
    >>> from featgrad.report import ComparisonDisplay
    >>> display = ComparisonDisplay([True, True, False], [False, True, False], ["a", "b", "c"])
    >>> display.overlap
    0.5
    """

    def __init__(
        self,
        first: ArrayLike,
        second: ArrayLike,
        names: Sequence[str],
        labels: tuple[str, str] = ("first", "second"),
    ) -> None:
        self.first, self.second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
        self.names, self.labels = names, labels
        either = np.count_nonzero(self.first | self.second)
        shared = np.count_nonzero(self.first & self.second)
        self.overlap = float(shared / either) if either else 1.0

    @classmethod
    def from_estimators(
        cls,
        first: Any,
        second: Any,
        *,
        labels: tuple[str, str] = ("first", "second"),
        ax: Any = None,
    ) -> Self:
        """Draw the selections of two fitted selectors of the same features.

        Parameters
        ----------
        first, second : selectors
            Fitted: of this package or any other scikit-learn selector.
        labels : tuple of str, default=("first", "second")
            Names of the selections.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.

        Returns
        -------
        ComparisonDisplay
        """
        if first.n_features_in_ != second.n_features_in_:
            raise ValueError(
                f"first was fitted on {first.n_features_in_} features and second on "
                f"{second.n_features_in_}: fit both on the same table."
            )
        masks = first.get_support(), second.get_support()
        return cls(*masks, feature_names(first), labels).plot(ax)

    def _draw(self, *, max_features: int = MAX_FEATURES) -> None:
        """Draw shared features first, then those of the first, then those of the second."""
        shared, only = self.first & self.second, self.first & ~self.second
        sets = (shared, only, self.second & ~self.first)
        shown = np.concatenate([np.flatnonzero(members) for members in sets])[:max_features]
        row, column = np.nonzero(np.column_stack([self.first, self.second])[shown])
        colours = np.where(shared[shown][row], "C0", "C1")
        self.dots_ = self.ax_.scatter(column, row, c=colours)
        self.ax_.set_xticks([0, 1], self.labels)
        self.ax_.set_xlim(-0.5, 1.5)
        self._list_features([self.names[i] for i in shown])
        counts = " + ".join(str(np.count_nonzero(members)) for members in sets)
        self.ax_.set_title(f"shared + only first + only second: {counts}")


class MaskDisplay(Display):
    """Chosen features as pixels, for features that are the pixels of an image.

    Parameters
    ----------
    mask : array-like of shape (height, width)
        Value of each pixel.

    Attributes
    ----------
    ax_, figure_
        The axes and their figure.
    image_
        The matplotlib image.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from featgrad import FeatureGradientSelector
    >>> from featgrad.report import MaskDisplay
    >>> selector = FeatureGradientSelector(10, estimate=False, random_state=0)
    >>> selector = selector.fit(*load_digits(return_X_y=True))
    >>> int(MaskDisplay.from_estimator(selector, shape=(8, 8)).mask.sum())
    10
    """

    def __init__(self, mask: ArrayLike) -> None:
        self.mask = np.asarray(mask)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, shape: tuple[int, int], ax: Any = None, **image: Any
    ) -> Self:
        """Draw the features that a fitted selector chose.

        Parameters
        ----------
        estimator : FeatureGradientSelector
            Fitted.
        shape : tuple of int
            Height and width; their product is the number of features.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **image
            For matplotlib's `imshow`.

        Returns
        -------
        MaskDisplay
        """
        support = estimator.get_support()
        if len(shape) != 2 or shape[0] * shape[1] != len(support):
            raise ValueError(
                f"shape={shape!r} does not hold {len(support)} features: give a height and a width "
                "whose product is the number of features."
            )
        return cls(support.reshape(shape)).plot(ax, **image)

    def _draw(self, **image: Any) -> None:
        self.image_ = self.ax_.imshow(self.mask, **({"cmap": "gray_r"} | image))
        self.ax_.set_xticks([])
        self.ax_.set_yticks([])


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
    def from_estimator(
        cls, estimator: Any, *, max_features: int = MAX_FEATURES, ax: Any = None
    ) -> Self:
        """Draw the stability of a fitted selector.

        Parameters
        ----------
        estimator : FeatureGradientSelector
            Fitted with `n_resamples`, hence with a `stability_`.
        max_features : int, default=20
            Number of features to show.
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.

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

    def _draw(self, *, max_features: int = MAX_FEATURES) -> None:
        shown = np.argsort(-self.frequencies, kind="stable")[:max_features]
        colours = np.where(self.chosen[shown], "C0", "lightgray")
        self.bars_ = self.ax_.barh(np.arange(len(shown)), self.frequencies[shown], color=colours)
        self._list_features([self.names[i] for i in shown])
        self.ax_.set_xlim(0, 1)
        self.ax_.set_xlabel("share of resamples (blue: chosen)")
        self.ax_.set_title(self.title)
