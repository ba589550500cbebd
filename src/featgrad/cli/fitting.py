"""Fit a selector to the rows of a file, at the sizes that a path or a report shows."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from featgrad.cli.cluster import connected
from featgrad.cli.columns import features_named, groups_of
from featgrad.cli.errors import UsageError, resumable
from featgrad.cli.loading import LoadedRows, ProgressSource, load_rows
from featgrad.cli.progress import Progress
from featgrad.plan import AUTO_SIZES
from featgrad.report.text import counted
from featgrad.selector import FeatureGradientSelector


class Fitting:
    """A fit as the options of the command line define it."""

    def __init__(self, rows: LoadedRows, arguments: Namespace, progress: Progress) -> None:
        self._rows, self._arguments, self._progress = rows, arguments, progress
        self.groups = None if arguments.ungrouped else groups_of(rows.source)

    def default_sizes(self, sizes: Sequence[int] = AUTO_SIZES) -> list[int]:
        """Those of the sizes up to half the number of rows: beyond, an estimate is mostly noise."""
        n_rows, n_features = self._rows.n_rows, self._rows.source.n_features
        smallest = self._smallest()
        largest = max(smallest, min(n_features, n_rows // 2))
        return [size for size in sizes if smallest <= size <= largest] or [smallest]

    def check_sizes(self, option: str, sizes: list[int]) -> None:
        n_features = self._rows.source.n_features
        if max(sizes, default=0) > n_features:
            raise UsageError(f"{option} {max(sizes)} is more than the {n_features} features.")

    def fit(
        self, wanted: int | str, sizes: list[int]
    ) -> tuple[FeatureGradientSelector, LoadedRows]:
        """A selector of the wanted size, or of the best one of `sizes` for "auto".

        Also the rows for further estimates.
        """
        self._warn_wide_groups(max(sizes))
        return self._fitted(len(sizes), n_features_to_select=wanted, path_sizes=sizes)

    def fit_rate(self, fdr: float) -> tuple[FeatureGradientSelector, LoadedRows]:
        """A selector at a false discovery rate, and the rows for further estimates."""
        return self._fitted(1, fdr=fdr)

    def _fitted(self, n_sizes: int, **wanted: Any) -> tuple[FeatureGradientSelector, LoadedRows]:
        arguments, progress, rows = self._arguments, self._progress, self._rows
        selector = FeatureGradientSelector(
            **wanted,
            feature_groups=self.groups,
            keep=self._kept(),
            n_resamples=arguments.resamples,
            cv=self._splitter(),
            task=arguments.task,
            order=arguments.order,
            missing="mean",
            preprocess="robust" if arguments.robust else "zscore",
            device=arguments.device,
            random_state=arguments.seed,
        )
        selector.set_callbacks(progress.searching(n_sizes))
        if arguments.dask is not None:
            rows = self._on_cluster(selector, rows)
        elif rows.is_complete:
            block = rows.block
            selector.fit(block.X, block.y, sample_weight=block.weight, groups=block.groups)
        else:
            progress.note("too large for memory: read block by block")
            rows = self._streamed(selector, rows.source)
        for point in selector.path_:
            progress.line(f"size {point.size}: {point.learnability}")
        progress.close()
        selector.set_callbacks()
        return selector, rows

    def _splitter(self) -> TimeSeriesSplit | None:
        """Holds out later rows where they are in order of time."""
        arguments = self._arguments
        if not arguments.in_order and arguments.time is None:
            return None
        if arguments.group is not None:
            raise UsageError("--group and --in-order or --time are two ways: leave one out.")
        if arguments.time is not None and arguments.dask is not None:
            raise UsageError(
                "--time is not looked at by the workers of --dask: sort the rows, and use "
                "--in-order."
            )
        return TimeSeriesSplit()

    def _streamed(self, selector: FeatureGradientSelector, source: ProgressSource) -> LoadedRows:
        """Fit block by block; returns a sample of the rows."""
        source.collect_sample = source.must_be_in_order = True
        with resumable(self._arguments.checkpoint):
            selector.fit_source(source, checkpoint=self._arguments.checkpoint)
        # A fit that was resumed from a checkpoint may have read nothing.
        if source.sample is None:
            return load_rows(source, read_all=True)
        return LoadedRows.from_sample(source, source.sample)

    def _on_cluster(self, selector: FeatureGradientSelector, rows: LoadedRows) -> LoadedRows:
        """Fit where workers read the rows; returns a sample of these if they are too many."""
        with connected(self._arguments.dask) as client:
            selector.fit_source(rows.source, checkpoint=self._arguments.checkpoint, client=client)
            if rows.is_complete:
                return rows
            return rows.drawn_by(client)

    def _smallest(self) -> int:
        """Smallest possible number of features."""
        if self.groups is None:
            return 1
        return int(np.unique(self.groups, return_counts=True)[1].min())

    def _kept(self) -> list[int] | None:
        if self._arguments.keep is None:
            return None
        kept = features_named(self._rows.source, "keep", self._arguments.keep)
        return [int(feature) for feature in kept]

    def _warn_wide_groups(self, size: int) -> None:
        if self.groups is None:
            return
        columns, widths = np.unique(self.groups, return_counts=True)
        wide = ", ".join(columns[widths > size][:10])
        if wide:
            self._progress.note(
                f"never selected, as they have more than {counted(size, 'feature')} each: {wide}; "
                "allow more with -k, or select single values with --ungrouped"
            )
