"""Whole lines of a text file, compressed or not, as bytes in chunks of about a megabyte."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from featgrad.readers.invalid_rows import unreadable

# Small enough to stay in a core's own cache while it is parsed.
_CHUNK_BYTES = 1 << 20
_MAX_CHUNK_BYTES = 1 << 24
# A longer line is taken for a file that is no text.
_MAX_LINE_BYTES = 1 << 26
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)


def open_text(path: Path) -> IO[bytes]:
    """The file's text as bytes, decompressed as its first bytes say."""
    with path.open("rb") as file:
        head = file.read(6)
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            return opener(path, "rb")  # type: ignore[no-any-return]
    return path.open("rb")


def line_chunks(path: Path, fewest: int = 1) -> Iterator[bytes]:
    """Pieces of the file that end at the end of a line; the last line gets one if it has none.

    Pieces of fewer lines than `fewest` grow, up to the largest.
    """
    rest = b""
    try:
        with open_text(path) as file:
            size, grown = _CHUNK_BYTES, False
            while read := file.read(size):
                end = read.rfind(b"\n") + 1
                # Lines are counted until there are enough: a file's lines are much alike.
                grown = grown or size >= _MAX_CHUNK_BYTES or read.count(b"\n") >= fewest
                size *= 1 if grown else 2
                if end:
                    yield b"".join((rest, memoryview(read)[:end]))
                    rest = read[end:]
                else:
                    rest += read
                if len(rest) > _MAX_LINE_BYTES:
                    raise OSError(f"a line is longer than {_MAX_LINE_BYTES >> 20} MiB")
    except UNREADABLE as error:
        unreadable(str(path), error)
    if rest:
        yield rest + b"\n"


def read_head(path: Path) -> bytes:
    """The first lines of a text file, or its first bytes if it is no text."""
    try:
        with open_text(path) as file:
            return file.read(1 << 16)
    except UNREADABLE as error:
        unreadable(str(path), error)
