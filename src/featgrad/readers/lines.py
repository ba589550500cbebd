"""Chunks of whole lines of a text file, compressed or not; they are parsed in threads."""

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from featgrad.readers.block import raise_unreadable

# About a megabyte is small enough to stay in the cache of a core while it is parsed.
_CHUNK_BYTES = 1 << 20
_MAX_CHUNK_BYTES = 1 << 24
# A file with a longer line is probably not text.
_MAX_LINE_BYTES = 1 << 26
_HEAD_BYTES = 1 << 16
# Chunks that are parsed when they are asked for: often no more than the first rows are looked at.
_FIRST_CHUNKS = 4
# Each thread has a chunk of its own in memory.
_MOST_THREADS = 4
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


class Pipe:
    """Text that is still being written; its first `n_lines` show how the rest is written.

    Reading goes on after them where `is_live` is set, which is possible once.
    """

    def __init__(self, name: str, file: Any, n_lines: int) -> None:
        self._name, self.is_live = name, False
        opener: Any = _opener(file.peek(6)) if n_lines else open
        self._file = file if opener is open else opener(_PipeReader(b"", file))
        # Lines are bounded: without a newline there is no end to them.
        first, room = list[bytes](), _MAX_LINE_BYTES
        while len(first) < n_lines and room > 0 and (line := self._file.readline(room)):
            first.append(line)
            room -= len(line)
        self._first = b"".join(first)
        if n_lines and room <= 0 and b"\n" not in self._first:
            raise ValueError(f"{name}: the first line is longer than {_MAX_LINE_BYTES >> 20} MiB.")

    def __str__(self) -> str:
        return self._name

    def open(self) -> "_PipeReader":
        return _PipeReader(self._first, self._file if self.is_live else io.BytesIO())


class _PipeReader(io.RawIOBase):
    """Reads what has been written so far, and waits only if that is nothing."""

    def __init__(self, first: bytes, file: Any) -> None:
        self._first, self._file = io.BytesIO(first), file

    def read(self, size: int = -1) -> bytes:
        return self._first.read(size) or self._file.read1(size)


def _opener(head: bytes) -> Any:
    """What decompresses a file that begins so."""
    return next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), open)


# A file, its content, or lines to come.
Text = Path | bytes | Pipe


@contextmanager
def _open_text(text: Text) -> Iterator[Any]:
    """The text as bytes, decompressed as its first bytes indicate; errors name the file."""
    if isinstance(text, bytes):
        yield io.BytesIO(text)
        return
    try:
        if isinstance(text, Pipe):
            yield text.open()
            return
        with text.open("rb") as file:
            head = file.read(6)
        with _opener(head)(text, "rb") as file:
            yield file
    except (OSError, EOFError, lzma.LZMAError, zlib.error, UnicodeError) as error:
        raise_unreadable(str(text), error)


def line_chunks(
    text: Text, min_lines: int = 1, encoding: str = "utf-8", *, returns: bool = False
) -> Iterator[bytes]:
    """Chunks of the file that end with a newline, which is added to the last line if it has none.

    Chunks grow up to a limit until they hold `min_lines` lines. They are UTF-8 without its mark;
    with `returns`, lines end with carriage returns.
    """
    rest: list[bytes] = []
    with _open_text(text) as file:
        size, grown, first = _CHUNK_BYTES, False, True
        reads: Iterator[bytes] = iter(lambda: file.read(size), b"")
        if encoding not in ("utf-8", "utf-8-sig"):
            reads = map(str.encode, codecs.iterdecode(reads, encoding))
        for read in reads:
            if first:
                read, first = read.removeprefix(codecs.BOM_UTF8), False
            read = read.replace(b"\r", b"\n") if returns else read
            end = read.rfind(b"\n") + 1
            # Lines are counted only until there are enough: the lines of a file are similar.
            grown = grown or size >= _MAX_CHUNK_BYTES or read.count(b"\n") >= min_lines
            size *= 1 if grown else 2
            if end:
                yield b"".join((*rest, memoryview(read)[:end]))
                rest = []
            rest.append(read[end:])
            if sum(map(len, rest)) > _MAX_LINE_BYTES:
                raise OSError(f"a line is longer than {_MAX_LINE_BYTES >> 20} MiB")
    if any(rest):
        yield b"".join((*rest, b"\n"))


def read_head(text: Text) -> bytes:
    with _open_text(text) as file:
        return bytes(file.read(_HEAD_BYTES))


def read_tail(text: Text) -> bytes:
    """The last bytes of the file; none where that would need all of it."""
    if isinstance(text, bytes):
        return text[-_HEAD_BYTES:]
    if isinstance(text, Pipe):
        return b""
    with text.open("rb") as file:
        if _opener(file.read(6)) is not open:
            return b""
        file.seek(max(0, file.seek(0, io.SEEK_END) - _HEAD_BYTES))
        return file.read()


def count_lines(text: bytes) -> int:
    """Several times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


T = TypeVar("T")


def parsed(
    text: Text, chunks: Iterable[bytes], parse: Callable[[bytes], T]
) -> Iterator[tuple[bytes, T]]:
    """Each chunk of the text and what `parse` makes of it, in order.

    The next chunks are parsed meanwhile in threads of their own; a few of them are in memory. Lines
    that are still being written are parsed as they come.
    """
    from numba import config

    n_threads = min(_MOST_THREADS, config.NUMBA_NUM_THREADS)
    chunks = iter(chunks)
    alone = None if n_threads == 1 or isinstance(text, Pipe) else _FIRST_CHUNKS
    yield from ((chunk, parse(chunk)) for chunk in islice(chunks, alone))

    def submitted() -> Iterator[tuple[bytes, Future[T]]]:
        try:
            for chunk in chunks:
                yield chunk, pool.submit(parse, chunk)
        except (OSError, ValueError) as error:
            # Chunks before it come first.
            failed: Future[T] = Future()
            failed.set_exception(error)
            yield b"", failed

    with ThreadPoolExecutor(n_threads, thread_name_prefix="featgrad-parse") as pool:
        upcoming = submitted()
        ahead = deque(islice(upcoming, n_threads))
        while ahead:
            chunk, result = ahead.popleft()
            ahead.extend(islice(upcoming, 1))
            yield chunk, result.result()
