"""MISSION over a source that is read block by block, for comparison at scale.

    python -m benchmarks.scale.streamed_mission FILE.arrow --size 1000 [--rows N]

The learning rate is the one of three with the lowest loss on rows before they are learned from,
over the first tenth of the rows; then one epoch over all. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from itertools import islice
from pathlib import Path

import numba
import numpy as np

from benchmarks.helpers import mission
from benchmarks.helpers.record import Figure, record
from benchmarks.scale.generate import read_planted
from featgrad.readers import Source, open_source, prefetched

RATES = (0.3, 3.0, 30.0)
_SALT = 12345


@numba.njit(cache=True)
def learn(data, indices, indptr, target, rate, table, heap, weights, where, used, bias, seen):
    """SGD over one block; returns slots in use, bias, and the loss before each row was learned."""
    loss = 0.0
    for n in range(target.size):
        margin = bias
        for p in range(indptr[n], indptr[n + 1]):
            slot = where[indices[p]]
            if slot >= 0:
                margin += weights[slot] * data[p]
        signed = margin if target[n] > 0 else -margin
        loss += math.log1p(math.exp(-signed)) if signed > -30 else -signed
        error = target[n] - 1.0 / (1.0 + math.exp(-margin))
        move = rate * error / math.sqrt(1.0 + (seen + n) / 10_000)
        bias += 0.1 * move
        for p in range(indptr[n], indptr[n + 1]):
            weight = mission.sketch_add(table, _SALT, indices[p], move * data[p])
            used = mission.offer(heap, weights, where, used, indices[p], weight)
    return used, bias, loss


def epoch(source: Source, size: int, rate: float, n_blocks: int | None) -> tuple:
    """Features of the heap by falling weight, and the mean loss on rows not yet learned from."""
    width = max(2 * size, source.n_features // (4 * mission.DEPTH))
    table = np.zeros((mission.DEPTH, 1 << (width - 1).bit_length()))
    heap, weights = np.empty(size, np.int64), np.empty(size)
    where = np.full(source.n_features, -1, np.int64)
    used, bias, total, seen = 0, 0.0, 0.0, 0
    for block in islice(prefetched(source), n_blocks):
        X, target = block.X, (block.y > 0).astype(np.float64)
        used, bias, loss = learn(
            X.data, X.indices, X.indptr, target, rate, table, heap, weights, where, used, bias, seen
        )
        total, seen = total + loss, seen + len(block)
    ranked = heap[:used][np.argsort(-np.abs(weights[:used]))]
    return ranked, total / seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rows", type=int, help="only the first rows")
    options = parser.parse_args()
    source = open_source(options.path, block_rows=1000)
    n_blocks = math.ceil((options.rows or source.n_rows) / 1000)
    few = max(1, n_blocks // 10)
    losses = {rate: epoch(source, options.size, rate, few)[1] for rate in RATES}
    rate = min(losses, key=losses.get)
    start = time.perf_counter()
    ranked, loss = epoch(source, options.size, rate, n_blocks)
    facts = {"rate": rate, "losses": losses, "loss": loss, "epoch": time.perf_counter() - start}
    facts["recall"] = float(np.isin(read_planted(options.path), ranked).mean())
    print(json.dumps(facts))
    command = f"python -m benchmarks.scale.streamed_mission {options.path.name}"
    command += f" --size {options.size}"
    figures = [Figure("planted columns found in 1000, MISSION", facts["recall"], "")]
    record("webspam shape", n_blocks * 1000, command, figures)


if __name__ == "__main__":
    main()
