"""Fit a selector at one size, or at several to draw the path and choose among them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featgrad.cli.progress import Progress
from featgrad.cli.tables import Table
from featgrad.learnability import Estimate
from featgrad.selector import FeatureGradientSelector

_SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200)


class PathPoint(NamedTuple):
    """The selection at one size."""

    size: int
    features: NDArray[np.intp]
    learnability: Estimate


def default_sizes(table: Table) -> list[int]:
    """Up to half as many features as rows: beyond, an estimate is mostly noise."""
    n_rows, n_columns = table.X.shape
    return [k for k in _SIZES if k <= max(1, min(n_columns, n_rows // 2))]


def fit_sizes(
    table: Table, sizes: list[int], options: dict[str, Any], quiet: bool
) -> list[FeatureGradientSelector]:
    progress = Progress(len(table.y), len(sizes), quiet)
    for note in table.notes:
        progress.note(note)
    selectors = []
    for k in sorted(set(sizes)):
        selector = FeatureGradientSelector(k, **options).set_callbacks(progress)
        selectors.append(selector.fit(table.X, table.y))
        progress.fit_done(f"size {k}: {selector.learnability_}")
    progress.close()
    path = [
        PathPoint(selector.n_features_, selector.get_support(indices=True), selector.learnability_)
        for selector in selectors
    ]
    for selector in selectors:
        selector.set_callbacks()
        selector.path_ = path
    return selectors


def smallest_good(selectors: list[FeatureGradientSelector]) -> FeatureGradientSelector:
    """The smallest set that explains no less than the best one does, but for its standard error."""
    best = max((s.learnability_ for s in selectors), key=lambda estimate: estimate.value)
    enough = best.value - best.standard_error
    return next(s for s in selectors if s.learnability_.value >= enough)
