"""A Dask cluster that reads FILE: one that is there, or the cores of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from featgrad.cli.errors import UsageError
from featgrad.readers import Block, Source
from featgrad.readers.block import concatenate


@contextmanager
def connected(address: str) -> Iterator[Any]:
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


def random_rows(client: Any, source: Source, share: float) -> tuple[Block, int, int]:
    """About a share of all rows, and how many there are and were skipped; workers read them."""
    parts = source.parts()
    futures = client.map(_drawn, parts, range(len(parts)), share=share, pure=False)
    drawn, n_rows, skipped = zip(*client.gather(futures), strict=True)
    blocks = [block for some in drawn for block in some]
    return concatenate(blocks), sum(n_rows), sum(skipped)


def _drawn(part: Source, number: int, share: float) -> tuple[list[Block], int, int]:
    rng, kept, n_rows = np.random.default_rng((0, number)), [], 0
    for block in part:
        n_rows += len(block)
        kept.append(block.only(rng.random(len(block)) < share))
    return kept, n_rows, part.skipped
