"""`python -m benchmarks.dask_cluster [throughput] [loss] [memory[=GB]] [peer]`: a local cluster.

Rows are generated in their partitions, from the number of the partition: no process has them all.
`peer` needs dask-ml.
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
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from benchmarks.helpers.memory import memory as process_status
from benchmarks.helpers.record import RESULTS, Figure, record
from featgrad import FeatureGradientSelector, open_source
from featgrad.dataset.all_moments import FoldMoments
from featgrad.dataset.dask import _MERGED, OnDask
from featgrad.dataset.reread import Gathered
from featgrad.dataset.sums import CellSums, PriceSums

SIZE = 20
INFORMATIVE = 15
Shape = tuple[int, int, int]  # partitions, rows of each, columns
Part = Iterator[tuple[str, int, list[Figure]]]


def block(seed: int, n_rows: int, n_features: int) -> np.ndarray:
    """The target, a sum of some columns and noise, and the features, some of them correlated."""
    rng = np.random.Generator(np.random.SFC64(seed))
    rows = rng.random((n_rows, 1 + n_features), np.float32)
    X = rows[:, 1:]
    X[:, 1:INFORMATIVE] += 0.5 * X[:, : INFORMATIVE - 1]
    rows[:, 0] = X[:, :INFORMATIVE].sum(axis=1) + rng.standard_normal(n_rows, np.float32)
    return rows


def partitions(n_partitions: int, n_rows: int, n_features: int) -> tuple[Any, Any]:
    def made(block_id: tuple[int, int]) -> np.ndarray:
        return block(block_id[0], n_rows, n_features)

    chunks = (n_rows,) * n_partitions, (1 + n_features,)
    rows = da.map_blocks(made, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    return rows[:, 1:], rows[:, 0]


@contextmanager
def cluster(n_workers: int, memory: str = "2GiB") -> Iterator[Client]:
    options = {"threads_per_worker": 1, "memory_limit": memory, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=n_workers, silence_logs=50, **options) as local,
        Client(local) as client,
    ):
        yield client


def fitted(X: Any, y: Any) -> tuple[FeatureGradientSelector, float]:
    begun = time.perf_counter()
    selector = FeatureGradientSelector(SIZE, random_state=0).fit(X, y)
    return selector, time.perf_counter() - begun


class Measured(NamedTuple):
    """A fit on a cluster.

    The critical path is the processor time of the thread that searches, while workers wait, and of
    the worker that had most to do: on a busy machine it says more than the time on the wall.
    """

    selector: FeatureGradientSelector
    seconds: float
    searching: float
    processor: list[float]  # of each worker
    sent: float
    by_model: float

    @property
    def critical_path(self) -> float:
        return self.searching + max(self.processor)


def measured(n_workers: int, shape: Shape) -> Measured:
    with cluster(n_workers) as client:
        fitted(*partitions(4, 100, shape[2]))  # compiles and loads
        before, already = client.run(time.process_time), sum(client.run(_sent).values())
        with costed(client, shape) as by_model:
            searching = time.thread_time()
            found, seconds = fitted(*partitions(*shape))
            searching = time.thread_time() - searching
        after = client.run(time.process_time)
        sent = sum(client.run(_sent).values()) - already
    processor = [after[worker] - before[worker] for worker in after]
    return Measured(found, seconds, searching, processor, sent, sum(by_model))


@contextmanager
def costed(client: Client, shape: Shape) -> Iterator[list[float]]:
    """Bytes that the cost model expects of each visit, for as many answers as were moved."""
    bytes_, visit = [], OnDask.visit
    n_rows = shape[0] * shape[1]

    def watched(self: OnDask, name: str, start: Any) -> Any:
        before = _moved(client)
        sums = visit(self, name, start)
        first, merged = (now - then for now, then in zip(_moved(client), before, strict=True))
        rows = self._at_once * shape[1]
        sizes = (
            answer_bytes(start, n, n_rows) for n in (rows, min(_MERGED * rows, n_rows), n_rows)
        )
        bytes_.append(sum(n * size for n, size in zip((first, merged, 1), sizes, strict=True)))
        return sums

    OnDask.visit = watched  # type: ignore[method-assign]
    try:
        yield bytes_
    finally:
        OnDask.visit = visit  # type: ignore[method-assign]


def answer_bytes(start: Any, n_rows: int, n_all: int) -> float:
    """Size of the sums over some of all rows, as the documentation has it."""
    if start.func is PriceSums:
        n_features, models, _, learn, _ = start.args
        n_outputs = len(models[0].division.means)
        return 8.0 * n_features * (2 * learn + len(models) * (n_outputs + 2))
    if start.func is Gathered:
        columns, count, _ = start.args
        return n_rows / n_all * count * (4 * len(columns) + 32)
    if start.func is CellSums:
        shape, columns, *_ = start.args
        width, of_cell = len(columns), n_rows / shape.n_cells
        return 4.0 * shape.n_cells * width * min(width, of_cell)
    assert start.func is FoldMoments
    n_features, shape, _, sampling = start.args
    moments = 8.0 * shape.n_cells * (1 + shape.n_outputs + n_features) ** 2
    return moments + answer_bytes(sampling, n_rows, n_all)


def throughput() -> Part:
    """Rows per second of two workers beside one, and bytes that they send."""
    for about, shape in (("tall", (300, 10_000, 400)), ("wide", (64, 1_000, 10_000))):
        one, two = measured(1, shape), measured(2, shape)
        expected = in_one_process((shape[0], shape[1] // 10, shape[2]))
        smaller = on_two_workers((shape[0], shape[1] // 10, shape[2]))
        same = smaller.get_support().tolist() == expected.get_support().tolist()
        same &= one.selector.get_support().tolist() == two.selector.get_support().tolist()
        difference = float(np.abs(smaller.scores_ - expected.scores_).max())
        processor = sum(two.processor) / sum(one.processor)
        yield f"{about}, {shape[0]} partitions x {shape[2]} columns", shape[0] * shape[1], [
            Figure("one worker", one.seconds, "s", ">= 30"),
            Figure("two workers beside one", one.seconds / two.seconds, "x", ">= 1.6"),
            Figure("two workers beside one, critical path of processor time",
                   one.critical_path / two.critical_path, "x", ">= 1.6"),
            Figure("processor time of one worker", sum(one.processor), "s"),
            Figure("processor time of two beside one", processor, "x"),
            Figure("processor time of the search itself", two.searching, "s"),
            Figure("other work on the machine while measured", os.getloadavg()[0], "processes"),
            Figure("a tenth of the rows: same set as in one process", float(same), "", ">= 1"),
            Figure("a tenth of the rows: largest difference of scores", difference, "", "<= 1e-6"),
            Figure("sent by two workers", two.sent / 2**20, "MiB"),
            Figure("sent beside the cost model, difference",
                   abs(two.sent / two.by_model - 1), "", "<= 0.1"),
            Figure("data as float32", np.prod(shape) * 4 / 2**20, "MiB"),
        ]  # fmt: skip


def on_two_workers(shape: Shape) -> FeatureGradientSelector:
    with cluster(2):
        return fitted(*partitions(*shape))[0]


def in_one_process(shape: Shape) -> FeatureGradientSelector:
    n_partitions, n_rows, n_features = shape
    rows = np.concatenate([block(seed, n_rows, n_features) for seed in range(n_partitions)])
    source = open_source(rows[:, 1:], target=rows[:, 0])
    return FeatureGradientSelector(SIZE, random_state=0).fit_source(source)


def loss() -> Part:
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


def memory(gigabytes: str = "50") -> Part:
    """More data than both workers may hold."""
    limit, n_rows, n_features = 2048, 20_000, 400
    shape = (round(float(gigabytes) * 1e9 / (4 * n_rows * n_features)), n_rows, n_features)
    with cluster(2, f"{limit}MiB") as client:
        _, seconds = fitted(*partitions(*shape))
        peak = max(client.run(_peak_memory).values())
    figures = [
        Figure("data as float32", np.prod(shape, dtype=float) * 4 / 1e9, "GB"),
        Figure("fit", seconds, "s"),
        Figure("peak memory of a worker", peak / 2**20, "MiB", f"<= {limit}"),
        Figure("peak memory of the client", _peak_memory() / 2**20, "MiB"),
    ]
    yield f"two workers of {limit} MiB, {shape[2]} columns", shape[0] * shape[1], figures


def peer() -> Part:
    """Beside a point of the L1 path of dask-ml, on persisted rows."""
    from dask_ml.linear_model import LogisticRegression
    from sklearn.linear_model import LogisticRegression as Judge
    from sklearn.metrics import roc_auc_score

    shape = (16, 5_000, 100)
    X, target = partitions(*shape)
    y = (target > INFORMATIVE * 0.74).astype(int)
    test = block(shape[0], 20_000, shape[2])
    X_test, y_test = test[:, 1:], test[:, 0] > INFORMATIVE * 0.74
    train = np.concatenate([block(seed, shape[1], shape[2]) for seed in range(4)])
    X_train, y_train = train[:, 1:], train[:, 0] > INFORMATIVE * 0.74

    def judged(features: Any) -> float:
        judge = Judge(C=1.0, max_iter=1000).fit(X_train[:, features], y_train)
        return float(roc_auc_score(y_test, judge.decision_function(X_test[:, features])))

    with cluster(2):
        X, y = X.persist(), y.persist()
        centred = (X - X.mean(axis=0)).persist()
        wait([X, y, centred])
        selector, seconds = fitted(X, y)
        begun = time.perf_counter()
        path = LogisticRegression(penalty="l1", C=1 / 400, solver="proximal_grad", max_iter=100)
        path.fit(centred, y)
        peer_seconds = time.perf_counter() - begun
    chosen = np.argsort(-np.abs(path.coef_), kind="stable")[:SIZE]
    yield f"{shape[0]} partitions x {shape[2]} columns, two classes", shape[0] * shape[1], [
        Figure("fit", seconds, "s"),
        Figure("dask-ml LogisticRegression(penalty='l1', C=1/400), one point", peer_seconds, "s"),
        Figure("AUC of 20 features", judged(selector.get_support(indices=True)), ""),
        Figure("dask-ml: AUC of the 20 largest coefficients", judged(chosen), ""),
        Figure("dask-ml: coefficients that are not 0", float(np.count_nonzero(path.coef_)), ""),
    ]  # fmt: skip


def _sent(dask_worker: Any) -> int:
    return sum(entry["compressed"] for entry in dask_worker.transfer_outgoing_log)


def _moved(client: Client) -> tuple[int, int]:
    """Answers that came to workers from others: of parts, and merged ones."""
    keys = [key for found in client.run(_received).values() for key in found]
    return sum("_sums_of" in key for key in keys), sum("_merged" in key for key in keys)


def _received(dask_worker: Any) -> list[str]:
    return [str(key) for entry in dask_worker.transfer_incoming_log for key in entry["keys"]]


def _peak_memory() -> int:
    return int(process_status("VmHWM"))


PARTS: dict[str, Callable[..., Part]] = {
    "throughput": throughput,
    "loss": loss,
    "memory": memory,
    "peer": peer,
}


def main(arguments: list[str]) -> None:
    for argument in arguments or ("throughput", "loss", "memory"):
        name, _, size = argument.partition("=")
        for about, rows, figures in PARTS[name](*[size] if size else []):
            for figure in figures:
                asked = f" (asked {figure.asked})" if figure.asked else ""
                print(
                    f"{rows:,} rows, {about}: {figure.bar} {figure.measured:.4g} {figure.unit}"
                    f"{asked}",
                    flush=True,
                )
            command = f"python -m benchmarks.dask_cluster {argument}"
            record(about, rows, command, figures, RESULTS / "dask", "On a Dask cluster")


if __name__ == "__main__":
    main(sys.argv[1:])
