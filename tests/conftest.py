"""One fixture that runs a test on every engine; SciPy told that other arrays than NumPy's come."""

import os

# Before SciPy is imported: scikit-learn's checks of array libraries are skipped without.
os.environ["SCIPY_ARRAY_API"] = "1"

import pytest

from engine_kinds import KINDS, Kind
from featgrad.moments import dense


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    chosen = KINDS[request.param]
    if chosen.library is not None:
        pytest.importorskip(chosen.library)
    if chosen.is_compiled and chosen.in_blocks:
        if not pytest.importorskip("torch").cuda.is_available():
            pytest.skip("needs a GPU")
        monkeypatch.setattr("featgrad.moments.block_problem._SEQUENTIAL_BYTES", 0)
    elif chosen.is_compiled:
        monkeypatch.setattr(dense, "_COMPILED_ENTRIES", 0)
        monkeypatch.setattr(dense, "_COMPILED_COLUMNS", 0)
    return chosen
