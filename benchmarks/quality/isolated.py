"""The parent's side of a selection in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.sources import ROOT, write_npz

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
        job = {"selector": selector, "ks": list(ks), "seed": seed}
        (folder / "job.json").write_text(json.dumps(job))
        command = [sys.executable, "-m", "benchmarks.quality.worker", name]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | ONE_THREAD,
                timeout=time_limit,
                capture_output=True,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return {"missing": f"over the limit of {time_limit:g} s"}
        if not (folder / "result.json").is_file():
            return {"missing": f"process ended with status {done.returncode}"}
        if done.stderr:
            sys.stderr.write(done.stderr)
        return json.loads((folder / "result.json").read_text())
