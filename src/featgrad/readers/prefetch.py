"""Read and parse the next block while the present one is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from featgrad.readers.block import Block, Source
from featgrad.readers.source import SourceWrapper


class Prefetched(SourceWrapper):
    """A source read one block ahead in a thread of its own."""

    def __iter__(self) -> Iterator[Block]:
        blocks = iter(self._source)
        # Leaving the pool waits for its thread, also when the caller stops early.
        with ThreadPoolExecutor(1, thread_name_prefix="featgrad-prefetch") as pool:
            coming = pool.submit(next, blocks, None)
            while (block := coming.result()) is not None:
                coming = pool.submit(next, blocks, None)
                yield block


def prefetched(source: Source) -> Source:
    """Read each block of a source while the one before it is used.

    Parameters
    ----------
    source : Source
        What to read. At most one block beside the present one is in memory.

    Returns
    -------
    Source
        The same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad.readers import open_source, prefetched
    >>> source = prefetched(open_source(np.eye(5), target=np.arange(5), block_rows=2))
    >>> [len(block) for block in source]
    [2, 2, 1]
    """
    return Prefetched(source)
