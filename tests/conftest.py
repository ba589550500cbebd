"""One fixture that runs a test on every kind of matrix; SciPy expects arrays of any library."""

import os

# Before SciPy is imported: scikit-learn's checks of array libraries are skipped without.
os.environ["SCIPY_ARRAY_API"] = "1"

import pytest

from matrix_kinds import KINDS, Kind


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen = KINDS[request.param]
    if chosen.library is not None:
        pytest.importorskip(chosen.library)
    return chosen
