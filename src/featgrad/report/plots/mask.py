"""The chosen features where they lie in an image."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from featgrad.report.plots.axes import drawing_axes


class MaskDisplay:
    """Chosen features as pixels, for features that are the pixels of an image.

    Parameters
    ----------
    mask : array-like of shape (height, width)
        What each pixel shows.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    image_
        What was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from featgrad import FeatureGradientSelector
    >>> from featgrad.report import MaskDisplay
    >>> selector = FeatureGradientSelector(10, random_state=0).fit(*load_digits(return_X_y=True))
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
            Where to draw; None makes new ones.
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

    def plot(self, ax: Any = None, **image: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.
        **image
            For matplotlib's `imshow`.

        Returns
        -------
        self
        """
        self.ax_ = drawing_axes(ax)
        self.figure_ = self.ax_.figure
        self.image_ = self.ax_.imshow(self.mask, **({"cmap": "gray_r"} | image))
        self.ax_.set_xticks([])
        self.ax_.set_yticks([])
        return self
