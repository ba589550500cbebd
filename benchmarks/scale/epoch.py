"""One fit of a file with planted features, in a process of its own.

    python -m benchmarks.scale.epoch FILE.arrow --size 1000 [--batch-rows 1000]

Prints, as JSON, the seconds of a bare reading (every block read and its entries summed), of each
passage of the fit and of all of it, the peak of memory, and which planted columns were found; the
figures with a bar are recorded.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

from benchmarks.scale.generate import read_planted
from benchmarks.scale.record import Figure, record
from featgrad import FeatureGradientSelector
from featgrad.data.sources import Source, ahead, open_source
from featgrad.data.streamed import StreamedColumns

_PASSAGES = ("__init__", "cross", "top_eigenvalue", "let_pass", "sampled")


def bare_seconds(source: Source) -> float:
    """Time to read all blocks and sum their entries."""
    start = time.perf_counter()
    total = 0.0
    for block in ahead(source):
        total += float(block.X.data.sum())
    return time.perf_counter() - start


def timed_passages() -> dict[str, float]:
    """Seconds by passage, filled while a fit goes on."""
    seconds: dict[str, float] = {}

    def timed(name, passage):
        def call(*arguments, **options):
            start = time.perf_counter()
            result = passage(*arguments, **options)
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
            return result

        return call

    for name in _PASSAGES:
        setattr(StreamedColumns, name, timed(name, getattr(StreamedColumns, name)))
    return seconds


def peak_mib() -> tuple[float, float]:
    """Largest resident memory of this process, and its present part that is no file."""
    status = Path("/proc/self/status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, own / 1024


def figures(facts: dict, shape: str) -> list[Figure]:
    """Those with a bar for a shape."""
    epoch, peak = facts["passages"]["let_pass"], facts["peak_mib"] / 1024
    beside = Figure("epoch beside a bare reading", epoch / facts["bare"], "x", "<= 6")
    if shape == "criteo":
        rate = Figure("one epoch", facts["rows"] / epoch, "rows/s", ">= 150000")
        return [beside, rate, Figure("peak memory", peak, "GiB")]
    return [
        beside,
        Figure("one epoch", epoch / 60, "minutes", "<= 10"),
        Figure("whole fit", facts["fit"] / 60, "minutes"),
        Figure("peak memory", peak, "GiB", "<= 4"),
        Figure("planted columns found in 1000", facts["recall"], "", ">= 0.9"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--batch-rows", type=int, default=1000)
    options = parser.parse_args()
    source = open_source(options.path, block_rows=options.batch_rows)
    bare = bare_seconds(source)
    passages = timed_passages()
    selector = FeatureGradientSelector(
        options.size, order=4, batch_size=options.batch_rows, random_state=0
    )
    start, before = time.perf_counter(), time.process_time()
    selector.fit_source(source)
    seconds, spent = time.perf_counter() - start, time.process_time() - before
    chosen = selector.get_support(indices=True)
    facts = {
        "rows": source.n_rows,
        "features": source.n_features,
        "bare": bare,
        "fit": seconds,
        "fit_cpu": spent,
        "passages": passages,
        "peak_mib": peak_mib()[0],
        "own_mib": peak_mib()[1],
        "learnability": selector.learnability_.value,
    }
    planted = read_planted(options.path)
    if planted and isinstance(planted[0], int):
        facts["recall"] = float(np.isin(planted, chosen).mean())
    print(json.dumps(facts))
    shape = options.path.stem.split("-")[0]
    command = (
        f"python -m benchmarks.scale.epoch {options.path.name} --size {options.size} "
        f"--batch-rows {options.batch_rows}"
    )
    record(f"{shape} shape", source.n_rows, command, figures(facts, shape))


if __name__ == "__main__":
    main()
