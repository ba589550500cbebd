"""Read and parse the next block in a thread while the current one is used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from featgrad.readers.block import Block
from featgrad.readers.source import Source, SourceWrapper


class Prefetched(SourceWrapper):
    def __iter__(self) -> Iterator[Block]:
        blocks = iter(self._source)
        # Leaving the pool waits for its thread, also if the caller stops early.
        with ThreadPoolExecutor(1, thread_name_prefix="featgrad-prefetch") as pool:
            upcoming = pool.submit(next, blocks, None)
            while (block := upcoming.result()) is not None:
                upcoming = pool.submit(next, blocks, None)
                yield block


def prefetched(source: Source) -> Source:
    """Read each block of a source while the previous one is used.

    Parameters
    ----------
    source : Source
        The source to read. At most one additional block is in memory.

    Returns
    -------
    Source
        The same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import open_source
    >>> from featgrad.readers import prefetched
    >>> source = prefetched(open_source(np.eye(5), target=np.arange(5), block_rows=2))
    >>> [len(block) for block in source]
    [2, 2, 1]
    """
    return Prefetched(source)
