"""Open FILE as a source, load its rows, and fit a selector to them."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from featgrad import plan
from featgrad._support import Indices
from featgrad._support.wording import counted
from featgrad.cli.arguments import UsageError
from featgrad.cli.output import Progress, as_json
from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.math.targets import Encoding
from featgrad.math.tasks import RowsOf, Task
from featgrad.plan import AUTO_SIZES, CURVE_SIZES
from featgrad.readers import Block, Source, open_source, prefetched
from featgrad.readers.block import concatenate
from featgrad.readers.columns import Layout, Table, check_column
from featgrad.readers.lines import read_head
from featgrad.readers.missing import EncodedRows
from featgrad.readers.opening import open_table
from featgrad.readers.source import SourceWrapper
from featgrad.search.knockoffs import Knockoffs
from featgrad.selector import FeatureGradientSelector

# Options of the command line that are arguments of `open_source`: how text is written, and others.
DIALECT = ("sep", "decimal", "encoding", "header", "na_values", "skip_rows", "sheet", "transpose")
_OTHERS = ("format", "target", "weight", "names", "exclude", "categorical", "hash_dim",
           "on_bad_rows", "groups", "time", "block_rows")  # fmt: skip


class ProgressSource(SourceWrapper):
    """A source that reports progress while it is read.

    The first complete iteration after `collect_sample` was set leaves random rows in `sample`; rows
    that have a time have to be in its order then.
    """

    collect_sample = False
    feature_names: Sequence[str] | None
    skipped: int

    def __init__(self, source: Source, expected_rows: int | None, progress: Progress) -> None:
        super().__init__(source)
        self.expected_rows, self._progress = expected_rows, progress
        self.layout = source.feature_names
        self.sample: KeyedSample | None = None

    def __iter__(self) -> Iterator[Block]:
        collect = self.collect_sample and self.sample is None
        sample = KeyedSample(plan.LOADED_SAMPLE_BYTES, n_bytes) if collect else None
        rows, last = 0, -np.inf
        with self._progress.reading(self.expected_rows):
            for block in self._source:
                rows += len(block)
                if self.collect_sample and block.time is not None and len(block):
                    if last > block.time[0] or np.any(np.diff(block.time) < 0):
                        raise ValueError(
                            f"{self.name} is read block by block and its rows are not in the order "
                            "of --time: sort them first."
                        )
                    last = block.time[-1]
                if sample is not None:
                    sample.add(block)
                self._progress.advance(len(block))
                yield block
        self.expected_rows = rows
        self.sample = sample or self.sample


@dataclass(frozen=True)
class LoadedRows:
    """Rows of FILE that are in memory."""

    source: ProgressSource  # all rows
    n_rows: int  # in FILE, or read until they were too many
    block: Block  # all rows, random ones, or the first
    is_complete: bool  # whether the block holds all rows

    def for_estimates(self) -> "LoadedRows":
        """Not more rows than estimates are made from: random ones."""
        most = plan.ESTIMATE_ROWS_IN_MEMORY
        if len(self.block) <= most:
            return self
        drawn = np.sort(np.random.default_rng(0).choice(len(self.block), most, False))
        return LoadedRows(self.source, self.n_rows, self.block.take(drawn), is_complete=False)

    def encoding(self, task: str) -> Encoding:
        """How the target is encoded; "auto" finds its task."""
        block = self.block
        used = np.arange(len(block)) if block.weight is None else np.flatnonzero(block.weight)
        return Encoding.of(block.y, task, rows=RowsOf(block.X.__getitem__, used, block.groups))

    @classmethod
    def of(cls, source: ProgressSource, sample: KeyedSample) -> "LoadedRows":
        return cls(source, sample.n_rows, sample.rows().in_order(), sample.is_complete)

    def drawn_by(self, client: Any) -> "LoadedRows":
        """Random rows that workers of a Dask cluster read."""
        expected = (self.source.expected_rows or self.n_rows) / len(self.block)
        share = min(1.0, plan.LOADED_SAMPLE_BYTES / (int(n_bytes(self.block.X).sum()) * expected))
        parts = self.source.parts()
        futures = client.map(_drawn, parts, range(len(parts)), share=share, pure=False)
        drawn, n_rows, skipped = zip(*client.gather(futures), strict=True)
        self.source.skipped = sum(skipped)
        block = concatenate([block for some in drawn for block in some])
        return LoadedRows(self.source, sum(n_rows), block, len(block) == sum(n_rows))


def table_of(arguments: Namespace) -> Table | None:
    """FILE as a table, where it has columns."""
    dialect = {name: getattr(arguments, name) for name in DIALECT}
    return open_table(arguments.file, format=arguments.format, **dialect)


def open_file(arguments: Namespace) -> ProgressSource:
    """Open FILE with the options of the command line, and note how it was read."""
    options: dict[str, Any] = {name: getattr(arguments, name, None) for name in DIALECT + _OTHERS}
    # Columns that are named are not left out, whatever they look like.
    named = [name for o in ("keep", "features") for name in getattr(arguments, o, None) or ()]
    table = table_of(arguments) if named else None
    if table is not None:
        options["include"] = [name for name in named if name in table.kinds] or None
    dtype = "float32" if arguments.float32 else "float64"
    source = open_source(arguments.file, dtype=dtype, missing="nan", **options)
    for note in getattr(source, "notes", ()):
        arguments.progress.note(f"note: {note}")
        arguments.notes.append(note)
    expected = source.n_rows or _expected_rows(arguments.file)
    found = ProgressSource(source, expected, arguments.progress)
    if getattr(arguments, "ungrouped", False) and isinstance(found.layout, Layout):
        found.feature_names = found.layout.single()
    return found


def load_rows(source: ProgressSource, *, read_all: bool) -> LoadedRows:
    """All rows; if they are too many, a random sample or the first block."""
    sample = KeyedSample(plan.LOADED_BYTES, n_bytes)
    for block in prefetched(source):
        sample.add(block)
        expected = sample.size / sample.n_rows * (source.expected_rows or 0)
        if not (read_all or (sample.is_complete and expected <= 2 * plan.LOADED_BYTES)):
            return LoadedRows(source, sample.n_rows, block, is_complete=False)
    if sample.n_rows == 0:
        raise ValueError(f"{source.name} has no valid rows: there is nothing to learn from.")
    return LoadedRows.of(source, sample)


def _expected_rows(path: Any) -> int | None:
    """Number of lines of an uncompressed text file, estimated from the first ones."""
    if not isinstance(path, Path) or not path.is_file():
        return None
    head = read_head(path)
    lines = head.count(b"\n")
    with path.open("rb") as file:
        plain = file.read(len(head)) == head
    return int(path.stat().st_size * lines / len(head)) if plain and lines else None


def _drawn(part: Source, number: int, share: float) -> tuple[list[Block], int, int]:
    rng, kept, n_rows = np.random.default_rng((0, number)), [], 0
    for block in part:
        n_rows += len(block)
        kept.append(block.only(rng.random(len(block)) < share))
    return kept, n_rows, part.skipped


def fit(rows: LoadedRows, arguments: Namespace) -> tuple[FeatureGradientSelector, LoadedRows]:
    """Fit a selector to all rows as the options define it; also returns rows for more estimates."""
    source, progress = rows.source, arguments.progress
    if arguments.run == "path" or arguments.fdr is None:
        wanted = _sizes(rows, arguments)
    elif arguments.k != "auto":
        raise UsageError("--fdr decides how many features are selected: leave -k out.")
    else:
        wanted = {"search": Knockoffs(fdr=arguments.fdr)}
    selector = FeatureGradientSelector(
        **wanted,
        keep=arguments.keep and variables_named(source, "keep", arguments.keep),
        n_resamples=arguments.resamples,
        cv=splitter(arguments),
        task=arguments.task,
        missing="mean",
        preprocess="robust" if arguments.robust else "zscore",
        device=arguments.device,
        random_state=arguments.seed,
    )
    selector.set_callbacks(progress)
    if arguments.dask is not None:
        with _connected(arguments.dask) as client:
            selector.fit_source(source, checkpoint=arguments.checkpoint, client=client)
            rows = rows if rows.is_complete else rows.drawn_by(client)
    elif rows.is_complete:
        block = rows.block
        X = encoded_rows(source, block.X)
        selector.fit(X, block.y, sample_weight=block.weight, groups=block.groups)
    else:
        progress.note("too large for memory: read block by block")
        source.collect_sample = True
        with _resumable(arguments.checkpoint):
            selector.fit_source(source, checkpoint=arguments.checkpoint)
        if source.sample is None:  # nothing was read, as by a fit that a checkpoint has finished
            rows = load_rows(source, read_all=True)
        else:
            rows = LoadedRows.of(source, source.sample)
    selector.set_callbacks()
    return selector, rows


def _sizes(rows: LoadedRows, arguments: Namespace) -> dict[str, Any]:
    """Sizes that were asked for, or usual ones, which a report shows in either case.

    Usual ones are up to half the number of rows: beyond, an estimate is mostly noise.
    """
    is_path, n_features = arguments.run == "path", len(variables_of(rows.source))
    if not is_path and arguments.k == "auto":
        return {}
    asked = arguments.sizes if is_path else [arguments.k]
    usual = AUTO_SIZES if asked is None else () if is_path or not arguments.report else CURVE_SIZES
    largest = max(1, min(n_features, rows.n_rows // 2))
    sizes = [*(asked or ()), *(size for size in usual if size <= largest)]
    most = max(sizes)
    if most > n_features:
        option = "--sizes" if is_path else "-k"
        raise UsageError(f"{option} {most} is more than the {n_features} features.")
    return {"n_features_to_select": most if is_path else arguments.k, "path_sizes": sizes}


def splitter(arguments: Namespace) -> TimeSeriesSplit | None:
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


def all_names(source: Source) -> list[str]:
    names = source.feature_names
    return [f"x{i}" if names is None else str(names[i]) for i in range(source.n_features)]


def features_named(source: Source, argument: str, named: Sequence[str]) -> Indices:
    """Features by name; the name of a text column stands for all of its features."""
    found: dict[str, list[int]] = {}
    for i, (name, column) in enumerate(_origins(source)):
        for key in {name, column or name}:
            found.setdefault(key, []).append(i)
    for name in named:
        check_column(argument, name, source.name, list(found))
    return np.unique([feature for name in named for feature in found[name]])


def variables_named(source: Source, argument: str, named: Sequence[str]) -> list[int]:
    """What is selected as one, by the name of a column or of a feature."""
    features, groups = features_named(source, argument, named), _groups(source)
    return list(map(int, np.unique(features if groups is None else groups[features])))


def variables_of(source: Source) -> Sequence[str]:
    """Names of what is selected as one."""
    layout = source.feature_names
    return layout.variables if isinstance(layout, Layout) else all_names(source)


def columns_read(source: Source) -> Sequence[str]:
    """The name of the column of each feature."""
    groups = _groups(source)
    return all_names(source) if groups is None else [variables_of(source)[i] for i in groups]


def _groups(source: Source) -> Indices | None:
    return getattr(source.feature_names, "groups", None)


def encoded_rows(source: Source, X: Any) -> Any:
    """Rows of a source with what their columns stand for."""
    layout = source.feature_names
    return EncodedRows(X, layout) if isinstance(layout, Layout) else X


def columns_of(source: Source, features: Sequence[str]) -> list[str]:
    """The columns of a table that features or columns of these names come from."""
    # Files of stored rows have names as well, but no columns to leave out.
    origins, wanted = _origins(source) if hasattr(source, "left_out") else [], set(features)
    return list(dict.fromkeys(column for name, column in origins if {name, column} & wanted))


def _origins(source: Source) -> list[tuple[str, str]]:
    """The name of each feature and of its column, "" where FILE has no columns."""
    columns = [""] * source.n_features
    if isinstance(layout := getattr(source, "layout", None), Layout):
        columns = [column.name for column in layout.columns for _ in range(column.width)]
    return list(zip(all_names(source), columns, strict=True))


def outcome(fitted: Any, rows: LoadedRows, arguments: Namespace) -> dict[str, Any]:
    """What a selector or a constructor has found, for JSON."""
    return {
        "learnability": as_json(fitted.learnability_),
        "score": None if fitted.score_ is None else fitted.score_._asdict(),
        "task": fitted.task_,
        "task_reason": fitted.task_.reason,
        "target": arguments.target,
        "rows": rows.n_rows,
        "skipped": rows.source.skipped,
        "candidates": len(variables_of(rows.source)),
        "seed": arguments.seed,
    }


def reported(rows: LoadedRows, arguments: Namespace) -> dict[str, Any]:
    """What a report says of FILE and of the command."""
    about = {"File": arguments.named(str(arguments.file)), "Rows": f"{rows.n_rows:,}"}
    about["Rows left out"] = f"{rows.source.skipped:,}"
    if not rows.is_complete:
        about["Estimated from"] = f"{len(rows.block):,} random rows; the selection itself from all"
    known = {"target": arguments.target, "about": about, "command": arguments.command_line}
    return known | {"sample_weight": rows.block.weight}


def about_gains(n_features: int) -> list[str]:
    return ["gain: share of the variance that is lost without the feature"] if n_features else []


def about_task(task: Task, arguments: Namespace) -> list[str]:
    """What the target was taken for, and why."""
    return [f"task: {task} ({task.reason})"] if arguments.task == "auto" else []


def about_rows(rows: LoadedRows, arguments: Namespace) -> list[str]:
    """Notes on what counts as missing, on skipped rows and on random samples."""
    lines = [note for note in rows.source.notes if note not in arguments.notes]
    arguments.notes += lines
    if rows.source.skipped:
        lines.append(f"left out: {counted(rows.source.skipped, 'invalid row')}")
    if not rows.is_complete:
        lines.append(f"estimated from {len(rows.block):,} random rows of {rows.n_rows:,}")
    return lines
