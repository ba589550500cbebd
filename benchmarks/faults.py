"""Faults that a tool must survive: damaged files, kills, full disks, files that change, threads.

    python -m benchmarks.faults [--files 20000] [--generated 3000] [--kills 20]

Each case ends as if nothing had happened, or with one line that says what is wrong: also files of
known values in every dialect, hostile names in every output, inputs that are deep, wide, huge or
endless, and wild values in every storage. What ends in any other way is counted as a failure and
named; their number is the exit code. The counts are written to `benchmarks/results/faults`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

from benchmarks.helpers.faults import files, limits, names, wild
from benchmarks.helpers.record import RESULTS, Figure, record
from benchmarks.scale import kills, mutations
from featgrad import FeatureGradientSelector, open_source
from featgrad.readers import convert

_SOURCES = Path(__file__).parents[1] / "src"
_N_ROWS = 400
SURVIVED = ("the same result", "one line")
Outcomes = Counter[str]


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((_N_ROWS, 6)).round(3), columns=list("abcdef"))
    return frame.assign(y=(frame["b"] - frame["e"] + 0.3 * rng.standard_normal(_N_ROWS)).round(3))


def write(path: Path, frame: pd.DataFrame) -> None:
    """The rows in the format of the suffix."""
    X, y = frame.drop(columns="y"), frame["y"]
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=50)
    elif path.suffix == ".svm":
        lines = (" ".join(f"{i + 1}:{v}" for i, v in enumerate(row)) for row in X.to_numpy())
        path.write_text("\n".join(f"{t} {line}" for t, line in zip(y, lines, strict=True)))
    elif path.suffix == ".npy":
        np.save(path, X.to_numpy())
    else:
        convert(open_source(X.to_numpy(), target=y.to_numpy(), block_rows=50), path)


def opened(path: Path):
    options = {".csv": {"target": "y"}, ".parquet": {"target": "y"}}
    given = options.get(path.suffix, {})
    if path.suffix == ".npy":
        given = {"target": rows()["y"].to_numpy()}
    return open_source(path, block_rows=50, **given)


def fit(source, checkpoint: Path | None = None) -> np.ndarray:
    selector = FeatureGradientSelector(2, random_state=0).fit_source(source, checkpoint)
    return np.append(selector.scores_, selector.learnability_.value)


class Changing:
    """A source whose file changes after some blocks were read."""

    def __init__(self, source, left: int, change: Callable[[], None]) -> None:
        self._source, self._left, self._change = source, left, change

    def __getattr__(self, name):
        return getattr(self._source, name)

    def __iter__(self) -> Iterator:
        for block in self._source:
            self._left -= 1
            if self._left == 0:
                self._change()
            yield block


def changes(folder: Path) -> Outcomes:
    """Files that are changed, grown, cut or deleted while they are read."""
    frame, outcomes = rows(), Counter()
    grown, other = pd.concat([frame, frame[:7]]), frame.assign(b=frame["b"] + 1)

    def cut(path: Path) -> None:
        os.truncate(path, path.stat().st_size // 2)

    kinds: dict[str, Callable[[Path], None]] = {
        "changed": lambda path: write(path, other),
        "grown": lambda path: write(path, grown),
        "cut": cut,
        "deleted": Path.unlink,
    }
    for suffix in ("csv", "svm", "parquet", "arrow", "npy"):
        path = folder / f"rows.{suffix}"
        write(path, frame)
        expected = fit(opened(path))
        for kind, change in kinds.items():
            for left in (1, 3, 8, 9, 12, 17):
                write(path, frame)
                source = Changing(opened(path), left, lambda path=path, change=change: change(path))
                outcomes[f"{kind} {_outcome(lambda s=source: fit(s), expected)}"] += 1
    return outcomes


def _outcome(run: Callable[[], np.ndarray], expected: np.ndarray) -> str:
    try:
        found = run()
    except (ValueError, OSError) as error:
        return SURVIVED[1] if "\n" not in str(error) else f"FAILED with {error!r}"
    except Exception as error:
        return f"FAILED with {type(error).__name__}"
    return SURVIVED[0] if np.array_equal(found, expected) else "FAILED: another result in silence"


def full_disk(folder: Path) -> Outcomes:
    """Outputs beyond what may be written: the old file stays, and no other is left."""
    outcomes: Outcomes = Counter()
    path = folder / "rows.csv"
    write(path, rows())
    for option, name in [("--out", "a.json"), ("--report", "a.html"), ("--write", "a.csv"),
                         ("--write", "a.parquet"), ("convert", "a.arrow")]:  # fmt: skip
        out = folder / name
        out.write_text("old")
        given = ["convert", str(path), str(out)]
        if option != "convert":
            given = ["select", str(path), "-k", "2", option, str(out)]
        done = _command([*given, "--target", "y", "-q"], preexec_fn=_little_disk)
        kept = out.read_text() == "old" and not list(folder.glob(".*"))
        said = done.returncode == 1 and done.stderr.count("\n") == 1
        outcomes["full disk " + (SURVIVED[1] if kept and said else f"FAILED: {done.stderr}")] += 1
    with Path("/dev/full").open("w") as device:
        done = _command(["info", str(path)], stdout=device)
    said = done.returncode == 1 and "Traceback" not in done.stderr
    outcomes["full device " + (SURVIVED[1] if said else f"FAILED: {done.stderr}")] += 1
    expected, checkpoint = fit(opened(path)), folder / "fit.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        _little_disk()
        try:
            found = _outcome(lambda: fit(opened(path), checkpoint), expected)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    outcomes[f"full disk under a checkpoint {found}"] += 1
    return outcomes


def _little_disk() -> None:
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def _command(given: list[str], **options) -> subprocess.CompletedProcess:
    options = {
        "stdout": subprocess.PIPE,
        "env": os.environ | {"PYTHONPATH": str(_SOURCES)},
    } | options
    command = [sys.executable, "-m", "featgrad", *given]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)


def two_processes(folder: Path) -> Outcomes:
    """Of two fits with one checkpoint the second is told, and the first ends as it would."""
    path, checkpoint = folder / "rows.csv", folder / "fit.npz"
    write(path, rows())
    expected, told = fit(opened(path)), []

    def second() -> None:
        with ThreadPoolExecutor(1) as pool:
            try:
                pool.submit(fit, opened(path), checkpoint).result()
            except ValueError as error:
                told.append("in use by another fit" in str(error))

    first = _outcome(lambda: fit(Changing(opened(path), 5, second), checkpoint), expected)
    second_was = SURVIVED[1] if told == [True] else "FAILED"
    return Counter([f"two fits, the first {first}", f"two fits, the second {second_was}"])


def threads(folder: Path) -> Outcomes:
    """Eight fits at once end as one by one, and leave the threads of BLAS as they were."""
    frame = rows()
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()

    def one(seed: int) -> np.ndarray:
        return FeatureGradientSelector(2, random_state=seed).fit(X, y).scores_

    expected, before = [one(seed) for seed in range(8)], _blas_threads()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(8)))
    outcomes = Counter(
        f"eight threads {SURVIVED[0] if np.array_equal(a, b) else 'FAILED'}"
        for a, b in zip(found, expected, strict=True)
    )
    left = _blas_threads() == before
    outcomes[f"threads of BLAS {'as they were' if left else 'FAILED'}"] += 1
    return outcomes


def _blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def forks(folder: Path) -> Outcomes:
    """A child that is forked after a fit, and while another thread fits, fits as well."""
    frame = rows()
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    expected = FeatureGradientSelector(2, random_state=0).fit(X, y).scores_
    outcomes: Outcomes = Counter()
    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for busy in (False, True):
            other = pool.submit(_fit_often, X, y) if busy else None
            child = multiprocessing.get_context("fork").Process(
                target=_child, args=(X, y, expected)
            )
            child.start()
            child.join(60)
            survived = child.exitcode == 0
            if child.exitcode is None:
                child.kill()
            outcomes[f"fork {SURVIVED[0] if survived else f'FAILED with {child.exitcode}'}"] += 1
            if other is not None:
                other.result()
    return outcomes


def _fit_often(X: np.ndarray, y: np.ndarray) -> None:
    for seed in range(20):
        FeatureGradientSelector(2, random_state=seed).fit(X, y)


def _child(X: np.ndarray, y: np.ndarray, expected: np.ndarray) -> None:
    found = FeatureGradientSelector(2, random_state=0).fit(X, y).scores_
    sys.exit(not np.array_equal(found, expected))


def read_only_install(folder: Path) -> Outcomes:
    """A copy of the package beside which nothing can be written, run by somebody without a home.

    Files stand where folders of caches would be made: also root cannot make them.
    """
    path, copy = folder / "rows.csv", folder / "install"
    write(path, rows())
    shutil.copytree(_SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for package in [*copy.rglob("__init__.py")]:
        package.with_name("__pycache__").touch()
    places = {"PYTHONPATH": str(copy), "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    select = ["select", str(path), "--target", "y", "-k", "2"]
    outcomes: Outcomes = Counter()
    for given in (["--help"], ["info", str(path)], select):
        done = _command(given, env=os.environ | places)
        good = done.returncode == 0 and "Traceback" not in done.stderr
        outcomes["read-only install " + (SURVIVED[0] if good else f"FAILED: {done.stderr}")] += 1
    return outcomes


CASES = (changes, full_disk, two_processes, threads, forks, read_only_install)


def run(cases: tuple[Callable[[Path], Outcomes], ...] = CASES) -> Outcomes:
    """The outcomes of these cases, each in a folder of its own."""
    outcomes: Outcomes = Counter()
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            outcomes += case(Path(folder))
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--generated", type=int, default=3000)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    begun = time.monotonic()
    outcomes = run()
    outcomes += files.run(options.generated) + names.run() + limits.run() + wild.run()
    fuzzed = mutations.run(options.files)
    for outcome in ("refused", "skipped", "read", "FAILED"):
        count = sum(n for name, n in fuzzed.items() if name.endswith(outcome))
        outcomes[f"damaged files {outcome}"] = count
    with tempfile.TemporaryDirectory() as folder:
        killed, kept, alike = kills.run(options.kills, 0, Path(folder))
    outcomes["kills, the same result bit for bit"] = alike
    outcomes["kills FAILED: another result"] = killed - alike
    outcomes["kills after a checkpoint was there"] = kept
    failed = sum(count for outcome, count in outcomes.items() if "FAILED" in outcome)
    for outcome, count in sorted((+outcomes).items()):
        print(f"{count:6,}  {outcome}")
    print(f"{failed:6,}  failures in all")
    minutes = (time.monotonic() - begun) / 60
    given = f"--files {options.files} --generated {options.generated} --kills {options.kills}"
    command = f"python -m benchmarks.faults {given}"
    figures = [
        Figure("the whole run", minutes, "minutes", "<= 15"),
        Figure("generated files", options.generated, "files", ">= 3000"),
        Figure("damaged files", fuzzed.total(), "files", ">= 20000"),
        Figure("kills after a checkpoint was there", kept, "kills", ">= 15"),
        Figure("failures in all", failed, "cases", "<= 0"),
    ]
    asked = {figure.bar for figure in figures}
    figures += [Figure(name, n, "cases") for name, n in (+outcomes).items() if name not in asked]
    # Cases are counted in the table, whose rows are of no fixed number.
    (RESULTS / "faults" / "results.json").unlink(missing_ok=True)
    n_cases = outcomes.total() - kept - sum(n for name, n in outcomes.items() if "pandas" in name)
    record("faults", n_cases, command, figures, RESULTS / "faults", "Faults")
    return failed


if __name__ == "__main__":
    sys.exit(main())
