"""Run one selector in a process of its own, which has the training rows and nothing else.

The parent writes the training rows into a fresh folder and starts this module on it. The process
refuses to open any file of the data folders, so no selector can reach the test rows, neither in
memory nor on disk. It also makes time limits and peak memory exact.
"""

import contextlib
import json
import os
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.applicable import NotApplicableError, is_regression
from benchmarks.helpers.memory import memory
from benchmarks.helpers.peers import OTHER_ORDERS, SELECTORS, TIMED
from benchmarks.helpers.sources import CACHE, data_folder, read_npz


def forbid_data_folders():
    """Raise on every attempt to open something below the folders that hold test rows."""
    folders = tuple(str(folder.resolve()) + os.sep for folder in (CACHE, data_folder()))

    def hook(event, arguments):
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if path.startswith(folders):
                raise PermissionError(f"a selector tried to read {path}")

    sys.addaudithook(hook)


def limit_processor_time(seconds):
    """Let the system end this process after so much processor time, however busy it is."""
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + int(seconds), resource.RLIM_INFINITY))


def warm_up(select, X, y, seed):
    """Import and compile what the selector needs, on random numbers of the same kind."""
    rng = np.random.default_rng(0)
    toy = rng.random((60, 12)).astype(X.dtype)
    toy = sp.csr_matrix(toy) if sp.issparse(X) else toy
    target = rng.random(60) if is_regression(y) else np.arange(60) % (y.max() + 1)
    with contextlib.suppress(Exception):
        select(toy, target, [3], seed)


def reset_peak():
    """Forget the peak of memory so far and return the present use in bytes (Linux only)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def check(chosen, ks, n_columns):
    """Every size must come back with that many distinct columns."""
    for k in ks:
        columns = np.unique(chosen[k])
        if columns.size != k or len(chosen[k]) != k:
            raise ValueError(f"asked for {k} columns, got {len(chosen[k])}")
        if columns[0] < 0 or columns[-1] >= n_columns:
            raise ValueError(f"columns out of range for k = {k}")


def perform(folder, job):
    """Select, and return what is to be recorded.

    Seconds are processor time: with one thread that is what a clock shows on an idle machine.
    """
    X, y = read_npz(folder / "train.npz")
    select, ks = (SELECTORS | TIMED | OTHER_ORDERS)[job["selector"]], job["ks"]
    warm_up(select, X, y, job["seed"])
    limit_processor_time(job["time_limit"])
    before = reset_peak()
    start = time.process_time()
    chosen = select(X, y, ks, job["seed"])
    seconds = time.process_time() - start
    peak = memory("VmHWM") - before
    check(chosen, ks, X.shape[1])
    chosen = {k: np.sort(chosen[k]).tolist() for k in ks}
    return {"seconds": round(seconds, 3), "peak_bytes": max(peak, 0), "chosen": chosen}


def main():
    folder = Path(sys.argv[1])
    forbid_data_folders()
    warnings.simplefilter("ignore")
    job = json.loads((folder / "job.json").read_text())
    try:
        result = perform(folder, job)
    except NotApplicableError as reason:
        result = {"missing": f"not applicable: {reason}"}
    except ImportError as reason:
        result = {"missing": f"not installed: {reason}"}
    except Exception as reason:
        traceback.print_exc()
        result = {"missing": f"failed: {type(reason).__name__}: {reason}"}
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
