"""Where figures come from: command, day, commit and machine, kept beside them."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def provenance(module):
    """Of a run of `python -m module` with the arguments of this process."""
    return {
        "command": " ".join(["python", "-m", module, *sys.argv[1:]]),
        "date": today(),
        "commit": commit(),
        "machine": f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    }


def today():
    return datetime.now(UTC).date().isoformat()


@cache
def commit():
    """The commit checked out, with a plus where code is changed; unknown outside of a clone."""

    def git(*words):
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "src", "benchmarks/*.py")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def processor():
    """The processor by its name where the system tells it, by its kind elsewhere."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def in_words(source):
    return "`{command}`, {date}, commit {commit}, {machine}".format(**source)
