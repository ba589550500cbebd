"""From FILE to a source, and to rows in memory."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from featgrad.cli.progress import Progress
from featgrad.readers import Block, Source, open_source, prefetched
from featgrad.readers.lines import read_head
from featgrad.readers.opening import open_table
from featgrad.readers.sample import Sample
from featgrad.readers.source import SourceWrapper

# Values that are held in memory: data that take no more are fitted as a whole.
_MAX_MEMORY_BYTES = 1 << 27
# Of larger data, so much tells what a fit need not look at all rows for: gains, warnings, report.
_SAMPLE_BYTES = 1 << 25
# Entries and rows of a block of a table.
_BLOCK_ENTRIES = 1 << 22
_BLOCK_ROWS, _MIN_BLOCK_ROWS = 4096, 64


class ProgressSource(SourceWrapper):
    """A source that tells how far its reading has come.

    Attributes
    ----------
    expected_rows : int or None
        About how many rows there are.
    sample : Sample or None
        Random rows of the first whole reading, since `samples` was set.
    """

    collect_sample = False

    def __init__(self, source: Source, expected_rows: int | None, progress: Progress) -> None:
        super().__init__(source)
        self.expected_rows, self._progress = expected_rows, progress
        self.sample: Sample | None = None

    def __iter__(self) -> Iterator[Block]:
        wanted = self.collect_sample and self.sample is None
        sample = Sample(_SAMPLE_BYTES, seed=0) if wanted else None
        rows = 0
        with self._progress.reading(self.expected_rows):
            for block in self._source:
                rows += len(block)
                if sample is not None:
                    sample.add(block)
                self._progress.advance(len(block))
                yield block
        self.expected_rows = rows
        self.sample = sample or self.sample


@dataclass(frozen=True)
class Rows:
    """What FILE holds.

    Attributes
    ----------
    source : ProgressSource
        All rows, to be read again.
    n_rows : int
        How many there are, or were seen before they were too many.
    block : Block
        Those in memory: all of them, random ones, or the first.
    is_complete : bool
        Whether all are in memory.
    """

    source: ProgressSource
    n_rows: int
    block: Block
    is_complete: bool

    @classmethod
    def of(cls, source: ProgressSource, held: Sample) -> Rows:
        """All that were seen, or random ones of them."""
        return cls(source, held.n_rows, held.rows(), held.is_complete)


def open_file(arguments: Namespace, progress: Progress) -> ProgressSource:
    """The rows of FILE, as the options say."""
    path: Path = arguments.file
    table = open_table(path, format=arguments.format)
    block_rows = _BLOCK_ROWS
    if table is not None:
        fitting = _BLOCK_ENTRIES // max(1, len(table.columns))
        block_rows = max(_MIN_BLOCK_ROWS, min(_BLOCK_ROWS, fitting))
    source = open_source(
        path,
        target=arguments.target,
        weight=arguments.weight,
        format=arguments.format,
        exclude=arguments.exclude,
        categorical=arguments.categorical,
        hash_dim=arguments.hash_dim,
        missing="nan",
        on_bad_rows=arguments.on_bad_rows,
        block_rows=block_rows,
        dtype="float32" if arguments.float32 else "float64",
    )
    return ProgressSource(source, source.n_rows or _expected_rows(path), progress)


def read_rows(source: ProgressSource, *, read_all: bool) -> Rows:
    """Hold the rows in memory; where they are too many, random ones, or the first."""
    held = Sample(_MAX_MEMORY_BYTES, seed=0)
    for block in prefetched(source):
        held.add(block)
        if not read_all and _is_too_large(held, source.expected_rows):
            return Rows(source, held.n_rows, block, is_complete=False)
    if held.n_rows == 0:
        raise ValueError("FILE has no rows that can be used: look into it.")
    return Rows.of(source, held)


def _is_too_large(held: Sample, expected_rows: int | None) -> bool:
    """Whether the rows are too many, or by far will be: no need to read on."""
    expected = held.n_bytes / held.n_rows * (expected_rows or 0)
    return not held.is_complete or expected > 2 * _MAX_MEMORY_BYTES


def _expected_rows(path: Path) -> int | None:
    """About how many lines a file of plain text has, told by its first ones."""
    head = read_head(path)
    lines = head.count(b"\n")
    with path.open("rb") as file:
        plain = file.read(len(head)) == head
    return int(path.stat().st_size * lines / len(head)) if plain and lines else None
