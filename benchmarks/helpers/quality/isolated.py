"""The parent's side of a selection in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.helpers.sources import ROOT, write_npz

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def select_isolated(selector, X_train, y_train, ks, seed, time_limit):
    """Result of quality.worker on the training rows: columns, seconds, bytes; or why missing.

    One thread for every selector, so that times compare.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_npz(folder / "train.npz", X_train, y_train)
        job = {"selector": selector, "ks": list(ks), "seed": seed, "time_limit": time_limit}
        (folder / "job.json").write_text(json.dumps(job))
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.helpers.quality.worker", name],
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
            stderr=subprocess.PIPE,
            text=True,
        )
        sys.stderr.write(done.stderr)
        if done.returncode == -signal.SIGXCPU:
            return {"missing": f"over the limit of {time_limit:g} s of processor time"}
        if done.returncode != 0:
            return {"missing": f"failed: process ended with status {done.returncode}"}
        return json.loads((folder / "result.json").read_text())
