"""Faults that take little time; `python -m benchmarks.faults` tries all of them."""

import pytest
from benchmarks.helpers.faults import files, limits, names, wild

from benchmarks import faults


@pytest.mark.parametrize("case", [faults.two_processes, faults.threads])
def test_faults_are_survived(case):
    outcomes = faults.run((case,))
    assert outcomes.total() >= 2
    assert not any("FAILED" in outcome for outcome in outcomes)


@pytest.mark.parametrize(
    "run",
    [
        lambda: files.run(42, seed=5),
        lambda: names.run(("=\x1b[2J<b>\n\u202e",), ("csv",)),
        lambda: limits.run(limits.INPUTS[:1]),
        lambda: wild.run(("chunks",), wide=False),
    ],
    ids=["files", "names", "limits", "wild"],
)
def test_what_nobody_wishes_is_survived(run):
    outcomes = run()
    assert outcomes.total() > 0
    assert [outcome for outcome in outcomes if "FAILED" in outcome] == []
