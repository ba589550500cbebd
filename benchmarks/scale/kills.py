"""Kill a fit at random moments, start it again, and see that it ends as if it had not been killed.

One kill in five is at any moment of the fit, the others while it has a checkpoint.

    python -m benchmarks.scale.kills [--kills 20] [--seed 0]

Each fit is a process of its own, which is ended by SIGKILL. State is written five times a second
instead of twice a minute, since the fit takes seconds.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.helpers.record import Figure, record
from benchmarks.helpers.scale.webspam import WebspamLike
from featgrad import FeatureGradientSelector
from featgrad.dataset.checkpoint import Checkpoint
from featgrad.readers import convert, open_source

_N_ROWS, _N_FEATURES, _PER_ROW = 20_000, 50_000, 100
_READY = "ready"


def fit(rows: Path, checkpoint: Path, result: Path) -> None:
    """What is killed."""
    Checkpoint.every_s = 0.2
    source = open_source(rows, block_rows=500)
    print(_READY, flush=True)
    selector = FeatureGradientSelector(10, random_state=0).fit_source(source, checkpoint)
    np.savez(
        result,
        support=selector.get_support(),
        scores=selector.scores_,
        learnability=selector.learnability_.value,
    )


def started(*paths: Path) -> subprocess.Popen:
    """A process that has come to its fit."""
    command = [sys.executable, "-m", "benchmarks.scale.kills", "--fit", *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == _READY
    return process


def ended(process: subprocess.Popen) -> None:
    if process.wait() != 0:
        raise RuntimeError(f"the fit ended with {process.returncode}")


def watched(process: subprocess.Popen, checkpoint: Path) -> tuple[float, float]:
    """How long a fit takes that is not killed, and for how long its checkpoint is there."""
    start, there = time.perf_counter(), []
    while process.poll() is None:
        there += [time.perf_counter()] if checkpoint.exists() else []
        time.sleep(0.01)
    ended(process)
    return time.perf_counter() - start, there[-1] - there[0]


def killed(process: subprocess.Popen, checkpoint: Path, waits: bool, after_s: float) -> bool:
    """Whether the fit was killed at this moment: it may end before."""
    while waits and process.poll() is None and not checkpoint.exists():
        time.sleep(0.01)
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait() == -signal.SIGKILL
    return False


def run(n_kills: int, seed: int, folder: Path) -> tuple[int, int, int]:
    """Kill, start again and compare; returns kills, those that left a checkpoint, equal ends."""
    rows, checkpoint, result = (folder / name for name in ("rows.arrow", "fit.npz", "result.npz"))
    convert(WebspamLike(_N_ROWS, _N_FEATURES, _PER_ROW, n_planted=50), rows)
    whole, there = watched(started(rows, checkpoint, result), checkpoint)
    expected, rng = dict(np.load(result)), np.random.default_rng(seed)
    kept, same, alike = 0, 0, 0
    for k in range(n_kills):
        result.unlink()
        waits = k % 5 != 0
        after_s = rng.uniform(0, there if waits else whole)
        while not killed(started(rows, checkpoint, result), checkpoint, waits, after_s):
            after_s /= 2  # it ended before: this machine is faster now
        kept += checkpoint.exists()
        ended(started(rows, checkpoint, result))
        found = dict(np.load(result))
        same += np.array_equal(found["support"], expected["support"])
        alike += all(np.array_equal(found[name], expected[name]) for name in expected)
        if checkpoint.exists():
            raise RuntimeError("a checkpoint was left behind")
    print(
        f"{n_kills} kills within a fit of {whole:.0f} s, {kept} of which left a checkpoint: "
        f"{same} of {n_kills} ended with the same selection (bar {n_kills}), {alike} with the same "
        "scores and learnability bit for bit"
    )
    return n_kills, kept, alike


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fit", type=Path, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit(*options.fit)
        return
    with tempfile.TemporaryDirectory() as folder:
        _, _, same = run(options.kills, options.seed, Path(folder))
    command = f"python -m benchmarks.scale.kills --kills {options.kills} --seed {options.seed}"
    bar = f"same selection after {options.kills} kills"
    figures = [Figure(bar, same, "fits", f">= {options.kills}")]
    record("webspam shape, 50,000 columns", _N_ROWS, command, figures)


if __name__ == "__main__":
    main()
