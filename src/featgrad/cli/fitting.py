"""Fit a selector to a table, with the sizes that a path or a report shows."""

from __future__ import annotations

from typing import Any

from featgrad.cli.progress import Progress
from featgrad.cli.tables import Table
from featgrad.selector import FeatureGradientSelector

_SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200)


def default_sizes(table: Table) -> list[int]:
    """Up to half as many features as rows: beyond, an estimate is mostly noise."""
    n_rows, n_columns = table.X.shape
    return [k for k in _SIZES if k <= max(1, min(n_columns, n_rows // 2))]


def fit_sizes(
    table: Table, wanted: int | str, sizes: list[int], options: dict[str, Any], quiet: bool
) -> FeatureGradientSelector:
    """A selector of the size wanted, or chosen among the sizes if "auto" is."""
    progress = Progress(len(table.y), len(sizes) or 1, quiet)
    for note in table.notes:
        progress.note(note)
    selector = FeatureGradientSelector(wanted, path_sizes=sizes or None, **options)
    selector.set_callbacks(progress)
    selector.fit(table.X, table.y)
    for point in selector.path_:
        progress.line(f"size {point.size}: {point.learnability}")
    progress.close()
    selector.set_callbacks()
    return selector
