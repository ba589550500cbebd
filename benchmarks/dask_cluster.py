"""`python -m benchmarks.dask_cluster [throughput] [loss] [memory]`: fits on a local Dask cluster.

Rows are generated in their partitions, from the number of the partition: no process has them all.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.memory import memory as process_status
from benchmarks.record import RESULTS, Figure, record
from featgrad import FeatureGradientSelector, open_source

SIZE = 20
INFORMATIVE = 15


def block(seed: int, n_rows: int, n_features: int) -> np.ndarray:
    """The target, a sum of some columns and noise, and the features, some of them correlated."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), np.float32)
    X[:, 1:INFORMATIVE] += 0.5 * X[:, : INFORMATIVE - 1]
    y = X[:, :INFORMATIVE].sum(axis=1) + 3 * rng.standard_normal(n_rows, np.float32)
    return np.column_stack([y, X])


def partitions(n_partitions: int, n_rows: int, n_features: int) -> tuple[Any, Any]:
    def made(block_id: tuple[int, int]) -> np.ndarray:
        return block(block_id[0], n_rows, n_features)

    chunks = (n_rows,) * n_partitions, (1 + n_features,)
    rows = da.map_blocks(made, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    return rows[:, 1:], rows[:, 0]


@contextmanager
def cluster(n_workers: int, memory: str = "2GiB") -> Iterator[Client]:
    options = {"threads_per_worker": 1, "memory_limit": memory, "dashboard_address": None}
    with (
        LocalCluster(n_workers=n_workers, silence_logs=50, **options) as local,
        Client(local) as client,
    ):
        yield client


def fitted(X: Any, y: Any) -> tuple[FeatureGradientSelector, float]:
    begun = time.perf_counter()
    selector = FeatureGradientSelector(SIZE, random_state=0).fit(X, y)
    return selector, time.perf_counter() - begun


def throughput() -> Iterator[tuple[str, int, list[Figure]]]:
    """Rows per second of two workers beside one, and bytes that they send."""
    for about, shape in (("tall", (48, 10_000, 400)), ("wide", (16, 250, 10_000))):
        seconds, processor, sent = {}, {}, 0.0
        for n_workers in (1, 2):
            with cluster(n_workers) as client:
                fitted(*partitions(4, 100, shape[2]))  # compiles and loads
                before = sum(client.run(time.process_time).values())
                already = sum(client.run(_sent).values())
                found, seconds[n_workers] = fitted(*partitions(*shape))
                processor[n_workers] = sum(client.run(time.process_time).values()) - before
                sent = sum(client.run(_sent).values()) - already
        expected = in_one_process(shape)
        same = found.get_support().tolist() == expected.get_support().tolist()
        difference = float(np.abs(found.scores_ - expected.scores_).max())
        load = os.getloadavg()[0]
        yield f"{about}, {shape[0]} partitions x {shape[2]} columns", shape[0] * shape[1], [
            Figure("one worker", seconds[1], "s"),
            Figure("two workers beside one", seconds[1] / seconds[2], "x", ">= 1.6"),
            Figure("processor time of two beside one", processor[2] / processor[1], "x"),
            Figure("other work on the machine while measured", load, "processes"),
            Figure("same set as in one process", float(same), "", ">= 1"),
            Figure("scores: largest difference", difference, "", "<= 1e-6"),
            Figure("sent by two workers", sent / 2**20, "MiB"),
            Figure("data as float32", np.prod(shape) * 4 / 2**20, "MiB"),
        ]  # fmt: skip


def in_one_process(shape: tuple[int, int, int]) -> FeatureGradientSelector:
    n_partitions, n_rows, n_features = shape
    rows = np.concatenate([block(seed, n_rows, n_features) for seed in range(n_partitions)])
    source = open_source(rows[:, 1:], target=rows[:, 0])
    return FeatureGradientSelector(SIZE, random_state=0).fit_source(source)


def loss() -> Iterator[tuple[str, int, list[Figure]]]:
    """A worker is killed at random moments."""
    shape, times = (12, 1_000, 100), 10
    with cluster(2):
        expected, seconds = fitted(*partitions(*shape))
    rng, same, finished = random.Random(0), 0, 0
    for _ in range(times):
        with cluster(2) as client:
            lost = rng.choice(list(client.run(os.getpid).values()))
            killer = threading.Timer(rng.uniform(0, seconds), os.kill, (lost, signal.SIGKILL))
            killer.start()
            found, _ = fitted(*partitions(*shape))
            killer.join()
        finished += 1
        same += bool(np.array_equal(found.scores_, expected.scores_))
        print(f"finished {finished}, equal {same}", flush=True)
    yield (
        "a worker killed at random moments",
        shape[0] * shape[1],
        [
            Figure("finished", finished, f"of {times}", f">= {times}"),
            Figure("equal scores, to the last bit", same, f"of {times}", f">= {times}"),
        ],
    )


def memory() -> Iterator[tuple[str, int, list[Figure]]]:
    """More data than both workers may hold."""
    shape, limit = (60, 20_000, 300), 512
    with cluster(2, f"{limit}MiB") as client:
        _, seconds = fitted(*partitions(*shape))
        peak = max(client.run(_peak_memory).values())
    figures = [
        Figure("data as float32", np.prod(shape, dtype=float) * 4 / 2**20, "MiB"),
        Figure("fit", seconds, "s"),
        Figure("peak memory of a worker", peak / 2**20, "MiB", f"<= {limit}"),
    ]
    yield f"two workers of {limit} MiB, {shape[2]} columns", shape[0] * shape[1], figures


def _sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def _peak_memory() -> int:
    return int(process_status("VmHWM"))


PARTS: dict[str, Callable[[], Iterator[tuple[str, int, list[Figure]]]]] = {
    "throughput": throughput,
    "loss": loss,
    "memory": memory,
}


def main(names: list[str]) -> None:
    for name in names or PARTS:
        for about, rows, figures in PARTS[name]():
            for figure in figures:
                asked = f" (asked {figure.asked})" if figure.asked else ""
                print(
                    f"{rows:,} rows, {about}: {figure.bar} {figure.measured:.4g} {figure.unit}"
                    f"{asked}",
                    flush=True,
                )
            command = f"python -m benchmarks.dask_cluster {name}"
            record(about, rows, command, figures, RESULTS / "dask", "On a Dask cluster")


if __name__ == "__main__":
    main(sys.argv[1:])
