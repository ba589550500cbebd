"""From FILE to a source, and to rows in memory."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from featgrad.cli.progress import Progress
from featgrad.readers import Block, Source, ahead, open_source
from featgrad.readers.around import Around
from featgrad.readers.lines import first_lines
from featgrad.readers.opening import open_table
from featgrad.readers.sample import Sample

# Values that are held in memory: data that take no more are fitted as a whole.
_HELD_BYTES = 1 << 27
# Of larger data, so much tells what a fit need not look at all rows for: gains, warnings, report.
_SAMPLE_BYTES = 1 << 25
# Entries and rows of a block of a table.
_BLOCK_ENTRIES = 1 << 22
_BLOCK_ROWS, _FEWEST_BLOCK_ROWS = 4096, 64


class Watched(Around):
    """A source that tells how far its reading has come.

    Attributes
    ----------
    expected_rows : int or None
        About how many rows there are.
    left_behind : Sample or None
        Random rows of the first whole reading, since `samples` was set.
    """

    samples = False

    def __init__(self, source: Source, expected_rows: int | None, progress: Progress) -> None:
        super().__init__(source)
        self.expected_rows, self._progress = expected_rows, progress
        self.left_behind: Sample | None = None

    def __iter__(self) -> Iterator[Block]:
        wanted = self.samples and self.left_behind is None
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
        self.left_behind = sample or self.left_behind


@dataclass(frozen=True)
class Rows:
    """What FILE holds.

    Attributes
    ----------
    source : Watched
        All rows, to be read again.
    n_rows : int
        How many there are, or were seen before they were too many.
    block : Block
        Those in memory: all of them, random ones, or the first.
    is_whole : bool
        Whether all are in memory.
    """

    source: Watched
    n_rows: int
    block: Block
    is_whole: bool

    @classmethod
    def of(cls, source: Watched, held: Sample) -> Rows:
        """All that were seen, or random ones of them."""
        return cls(source, held.n_rows, held.rows(), held.is_whole)


def open_file(arguments: Namespace, progress: Progress) -> Watched:
    """The rows of FILE, as the options say."""
    path: Path = arguments.file
    table = open_table(path, format=arguments.format)
    block_rows = _BLOCK_ROWS
    if table is not None:
        fitting = _BLOCK_ENTRIES // max(1, len(table.columns))
        block_rows = max(_FEWEST_BLOCK_ROWS, min(_BLOCK_ROWS, fitting))
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
    return Watched(source, source.n_rows or _expected_rows(path), progress)


def read_rows(source: Watched, *, to_the_end: bool) -> Rows:
    """Hold the rows in memory; where they are too many, random ones, or the first."""
    held = Sample(_HELD_BYTES, seed=0)
    for block in ahead(source):
        held.add(block)
        if not to_the_end and _is_too_large(held, source.expected_rows):
            return Rows(source, held.n_rows, block, is_whole=False)
    if held.n_rows == 0:
        raise ValueError("FILE has no rows that can be used: look into it.")
    return Rows.of(source, held)


def _is_too_large(held: Sample, expected_rows: int | None) -> bool:
    """Whether the rows are too many, or by far will be: no need to read on."""
    expected = held.n_bytes / held.n_rows * (expected_rows or 0)
    return not held.is_whole or expected > 2 * _HELD_BYTES


def _expected_rows(path: Path) -> int | None:
    """About how many lines a file of plain text has, told by its first ones."""
    head = first_lines(path)
    lines = head.count(b"\n")
    with path.open("rb") as file:
        plain = file.read(len(head)) == head
    return int(path.stat().st_size * lines / len(head)) if plain and lines else None
