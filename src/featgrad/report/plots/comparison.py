"""Two selections side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from featgrad.report.plots.axes import drawing_axes, feature_names


class ComparisonDisplay:
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
        Jaccard index: shared features among those of either.
    ax_, figure_
        Where it was drawn.
    dots_
        What was drawn.

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
            Where to draw; None makes new ones.

        Returns
        -------
        ComparisonDisplay
        """
        if first.n_features_in_ != second.n_features_in_:
            raise ValueError(
                f"first has seen {first.n_features_in_} features and second "
                f"{second.n_features_in_}: fit both on the same table."
            )
        masks = first.get_support(), second.get_support()
        return cls(*masks, feature_names(first), labels).plot(ax)

    def plot(self, ax: Any = None, *, max_features: int = 40) -> Self:
        """Draw: shared features first, then those of the first, then those of the second.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.
        max_features : int, default=40
            How many features are shown.

        Returns
        -------
        self
        """
        self.ax_ = drawing_axes(ax)
        self.figure_ = self.ax_.figure
        shared, only = self.first & self.second, self.first & ~self.second
        parts = (shared, only, self.second & ~self.first)
        shown = np.concatenate([np.flatnonzero(part) for part in parts])[:max_features]
        row, column = np.nonzero(np.column_stack([self.first, self.second])[shown])
        colours = np.where(shared[shown][row], "C0", "C1")
        self.dots_ = self.ax_.scatter(column, row, c=colours)
        self.ax_.set_xticks([0, 1], self.labels)
        self.ax_.set_xlim(-0.5, 1.5)
        self.ax_.set_yticks(np.arange(len(shown)), [self.names[i] for i in shown])
        self.ax_.invert_yaxis()
        counts = " + ".join(str(np.count_nonzero(part)) for part in parts)
        self.ax_.set_title(f"shared + only first + only second: {counts}")
        return self
