"""Fit a selector to the rows of a file, at the sizes that a path or a report shows."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from featgrad.cli.arguments import UsageError
from featgrad.cli.load import LoadedRows, features_named, groups_of, load_rows
from featgrad.plan import AUTO_SIZES
from featgrad.report.text import counted, listed
from featgrad.search.knockoffs import Knockoffs
from featgrad.selector import FeatureGradientSelector


class Fitting:
    """A fit as the options of the command line define it."""

    def __init__(self, rows: LoadedRows, arguments: Namespace) -> None:
        self._rows, self._arguments = rows, arguments
        self._groups = None if arguments.ungrouped else groups_of(rows.source)
        # Columns of FILE whose features are selected together, and how many these are.
        self._columns, self._widths = np.unique(self._groups or [""], return_counts=True)

    def default_sizes(self, sizes: Sequence[int] = AUTO_SIZES) -> list[int]:
        """Those of the sizes up to half the number of rows: beyond, an estimate is mostly noise."""
        smallest = int(self._widths.min()) if self._groups else 1
        largest = max(smallest, min(self._rows.source.n_features, self._rows.n_rows // 2))
        return [size for size in sizes if smallest <= size <= largest] or [smallest]

    def fit(
        self, option: str, wanted: int | str, sizes: list[int]
    ) -> tuple[FeatureGradientSelector, LoadedRows]:
        """A selector of the wanted size, or of the best one of `sizes` for "auto".

        Also the rows for further estimates. Sizes that are too large are those of an option.
        """
        n_features, most = self._rows.source.n_features, max(sizes)
        if most > n_features:
            raise UsageError(f"{option} {most} is more than the {n_features} features.")
        wide = listed([str(name) for name in self._columns[self._widths > most]][:10], 10)
        if self._groups and wide:
            self._arguments.progress.note(
                f"never selected, as they have more than {counted(most, 'feature')} each: {wide}; "
                "allow more with -k, or select single values with --ungrouped"
            )
        return self._fitted(len(sizes), n_features_to_select=wanted, path_sizes=sizes)

    def fit_rate(self, fdr: float) -> tuple[FeatureGradientSelector, LoadedRows]:
        """A selector at a false discovery rate, and the rows for further estimates."""
        return self._fitted(1, search=Knockoffs(fdr=fdr))

    def _fitted(self, n_sizes: int, **wanted: Any) -> tuple[FeatureGradientSelector, LoadedRows]:
        arguments, rows = self._arguments, self._rows
        kept = arguments.keep and features_named(rows.source, "keep", arguments.keep).tolist()
        selector = FeatureGradientSelector(
            **wanted,
            feature_groups=self._groups,
            keep=kept,
            n_resamples=arguments.resamples,
            cv=_splitter(arguments),
            task=arguments.task,
            missing="mean",
            preprocess="robust" if arguments.robust else "zscore",
            device=arguments.device,
            random_state=arguments.seed,
        )
        selector.set_callbacks(arguments.progress.searching(n_sizes))
        if arguments.dask is not None:
            with _connected(arguments.dask) as client:
                selector.fit_source(rows.source, checkpoint=arguments.checkpoint, client=client)
                rows = rows if rows.is_complete else rows.drawn_by(client)
        elif rows.is_complete:
            block = rows.block
            selector.fit(block.X, block.y, sample_weight=block.weight, groups=block.groups)
        else:
            rows = _streamed(selector, rows, arguments)
        for point in selector.path_:
            arguments.progress.line(f"size {point.size}: {point.learnability}")
        arguments.progress.close()
        selector.set_callbacks()
        return selector, rows


def _splitter(arguments: Namespace) -> TimeSeriesSplit | None:
    """Holds out later rows where they are in order of time."""
    if not arguments.in_order and arguments.time is None:
        return None
    if arguments.groups is not None:
        raise UsageError("--group and --in-order or --time are two ways: leave one out.")
    if arguments.time is not None and arguments.dask is not None:
        raise UsageError(
            "--time is not looked at by the workers of --dask: sort the rows, and use --in-order."
        )
    return TimeSeriesSplit()


def _streamed(
    selector: FeatureGradientSelector, rows: LoadedRows, arguments: Namespace
) -> LoadedRows:
    """Fit block by block; returns a sample of the rows."""
    arguments.progress.note("too large for memory: read block by block")
    source = rows.source
    source.collect_sample = source.must_be_in_order = True
    with _resumable(arguments.checkpoint):
        selector.fit_source(source, checkpoint=arguments.checkpoint)
    # A fit that was resumed from a checkpoint may have read nothing.
    if source.sample is None:
        return load_rows(source, read_all=True)
    return LoadedRows.from_sample(source, source.sample)


@contextmanager
def _resumable(checkpoint: Path | None) -> Iterator[None]:
    """Add to an interrupt how to resume from the checkpoint."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None:
            message = "nothing was written: give --checkpoint PATH to be able to resume"
        elif checkpoint.exists():
            message = f"progress was saved in {checkpoint}: repeat the command to resume"
        else:
            message = "nothing was written: checkpoints are written every half minute"
        raise KeyboardInterrupt(message) from None


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the cluster at an address, or of a new one on this machine for "local"."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("--dask needs Dask: pip install 'featgrad[dask]'.") from None
    if address != "local":
        with Client(address) as client:
            yield client
        return
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client
