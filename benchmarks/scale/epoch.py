"""One fit of a file with planted features, in a process of its own.

    python -m benchmarks.scale.epoch FILE.arrow --size 1000 [--batch-rows 1000] [--from-disk]
    python -m benchmarks.scale.epoch FILE.arrow --size 1000 --working-set

Prints, as JSON, the seconds of a bare reading (every block read and its entries summed; the mean of
one before and one after the fit), of each passage of the fit and of all of it, the peak of memory,
and which planted columns were found; the figures with a bar are recorded. A file that is smaller
than memory stays there between readings, unless each is to begin with the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.helpers.memory import memory
from benchmarks.helpers.record import Figure, record
from benchmarks.scale.generate import read_planted
from featgrad import FeatureGradientSelector, MiniBatch, WorkingSet
from featgrad.dataset.source import Streamed
from featgrad.readers import Source, open_source, prefetched

_PASSAGES = ("__init__", "cross", "top_eigenvalue", "stream", "sample")


def clocks() -> np.ndarray:
    """Seconds, and seconds of processor time of all threads, which other programs change less."""
    return np.array([time.perf_counter(), time.process_time()])


def forget(path: Path) -> None:
    """Have the next reading of a file begin with the disk."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bare_seconds(source: Source, prepare: Callable[[], None]) -> np.ndarray:
    """Time to read all blocks and sum their entries."""
    prepare()
    start = clocks()
    total = 0.0
    for block in prefetched(source):
        total += float(block.X.data.sum())
    return clocks() - start


def timed_passages(prepare: Callable[[], None]) -> dict[str, np.ndarray]:
    """Time by passage, filled while a fit goes on."""
    seconds: dict[str, np.ndarray] = {}

    def timed(name, passage):
        def call(*arguments, **options):
            prepare()
            start = clocks()
            result = passage(*arguments, **options)
            seconds[name] = seconds.get(name, 0.0) + clocks() - start
            return result

        return call

    for name in _PASSAGES:
        setattr(Streamed, name, timed(name, getattr(Streamed, name)))
    return seconds


def peak_mib() -> tuple[float, float]:
    """Largest resident memory of this process, and its present part that is no file.

    The system's own account of it (`getrusage`) would begin with the process that started this one.
    """
    return memory("VmHWM") / 2**20, memory("RssAnon") / 2**20


def figures(facts: dict, shape: str) -> list[Figure]:
    """Those with a bar for a shape, of one epoch or of a search on a working set."""
    peak = Figure(
        "peak memory", facts["peak_mib"] / 1024, "GiB", None if shape == "criteo" else "<= 4"
    )
    found = [Figure("planted columns found in 1000", facts.get("recall", 0), "", ">= 0.9")]
    if "stream" not in facts["passages"]:
        return [Figure("whole fit", facts["fit"] / 60, "minutes", "<= 3"), peak, *found]
    epoch = facts["passages"]["stream"]
    beside = Figure("epoch beside a bare reading", epoch / facts["bare"], "x", "<= 6")
    spent = facts["passages_cpu"]["stream"] / facts["bare_cpu"]
    cpu = Figure("epoch beside a bare reading, processor time", spent, "x")
    if shape == "criteo":
        rate = Figure("one epoch", facts["rows"] / epoch, "rows/s", ">= 150000")
        return [beside, cpu, rate, peak]
    minutes = Figure("one epoch", epoch / 60, "minutes", "<= 10")
    return [beside, cpu, minutes, Figure("whole fit", facts["fit"] / 60, "minutes"), peak, *found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--batch-rows", type=int, default=1000)
    parser.add_argument("--from-disk", action="store_true")
    parser.add_argument("--working-set", action="store_true", help="search on a working set")
    options = parser.parse_args()
    source = open_source(options.path, block_rows=options.batch_rows)
    prepare = partial(forget, options.path) if options.from_disk else lambda: None
    before = bare_seconds(source, prepare)
    passages = timed_passages(prepare)
    search = WorkingSet() if options.working_set else MiniBatch(batch_size=options.batch_rows)
    # Estimates of a working set take a search for each part of the rows.
    kind = {"search": search, "estimate": not options.working_set, "random_state": 0}
    selector = FeatureGradientSelector(options.size, **kind)
    start = clocks()
    selector.fit_source(source)
    fit = clocks() - start
    peak, own = peak_mib()
    bare = (before + bare_seconds(source, prepare)) / 2
    chosen = selector.get_support(indices=True)
    facts = {
        "rows": source.n_rows,
        "features": source.n_features,
        "bare": bare[0],
        "bare_cpu": bare[1],
        "fit": fit[0],
        "fit_cpu": fit[1],
        "passages": {name: seconds[0] for name, seconds in passages.items()},
        "passages_cpu": {name: seconds[1] for name, seconds in passages.items()},
        "peak_mib": peak,
        "own_mib": own,
    }
    planted = read_planted(options.path)
    if planted and isinstance(planted[0], int):
        facts["recall"] = float(np.isin(planted, chosen).mean())
    print(json.dumps(facts))
    shape = options.path.stem.split("-")[0]
    command = (
        f"python -m benchmarks.scale.epoch {options.path.name} --size {options.size} "
        f"--batch-rows {options.batch_rows}"
        + " --from-disk" * options.from_disk
        + " --working-set" * options.working_set
    )
    data = f"{shape} shape" + ", each reading from disk" * options.from_disk
    data += ", by a working set" * options.working_set
    record(data, source.n_rows, command, figures(facts, shape))


if __name__ == "__main__":
    main()
