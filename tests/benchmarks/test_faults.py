"""Faults that take little time; `python -m benchmarks.faults` tries all of them."""

import pytest

from benchmarks import faults


@pytest.mark.parametrize("case", [faults.two_processes, faults.threads])
def test_faults_are_survived(case):
    outcomes = faults.run((case,))
    assert outcomes.total() >= 2
    assert not any("FAILED" in outcome for outcome in outcomes)
