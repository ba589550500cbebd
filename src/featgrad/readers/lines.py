"""Chunks of whole lines of a text file, compressed or not, of about a megabyte."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from featgrad.readers.invalid_rows import raise_unreadable

# Small enough to stay in the cache of a core while it is parsed.
_CHUNK_BYTES = 1 << 20
_MAX_CHUNK_BYTES = 1 << 24
# A file with a longer line is probably not text.
_MAX_LINE_BYTES = 1 << 26
_HEAD_BYTES = 1 << 16
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


@contextmanager
def _open_text(path: Path) -> Iterator[IO[bytes]]:
    """The text as bytes, decompressed as its first bytes indicate; errors name the file."""
    try:
        with path.open("rb") as file:
            head = file.read(6)
        opener = next(
            (opener for magic, opener in _OPENERS.items() if head.startswith(magic)), open
        )
        with opener(path, "rb") as file:
            yield file
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise_unreadable(str(path), error)


def line_chunks(path: Path, min_lines: int = 1) -> Iterator[bytes]:
    """Chunks of the file that end with a newline, which is added to the last line if it has none.

    Chunks grow up to a limit until they hold `min_lines` lines.
    """
    rest = b""
    with _open_text(path) as file:
        size, grown = _CHUNK_BYTES, False
        while read := file.read(size):
            end = read.rfind(b"\n") + 1
            # Lines are counted only until there are enough: the lines of a file are similar.
            grown = grown or size >= _MAX_CHUNK_BYTES or read.count(b"\n") >= min_lines
            size *= 1 if grown else 2
            if end:
                yield b"".join((rest, memoryview(read)[:end]))
                rest = read[end:]
            else:
                rest += read
            if len(rest) > _MAX_LINE_BYTES:
                raise OSError(f"a line is longer than {_MAX_LINE_BYTES >> 20} MiB")
    if rest:
        yield rest + b"\n"


def read_head(path: Path) -> bytes:
    """The first bytes of the file, decompressed."""
    with _open_text(path) as file:
        return file.read(_HEAD_BYTES)
