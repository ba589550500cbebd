"""One fixture that runs a test on every engine."""

import pytest

from engine_kinds import KINDS, Kind


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen = KINDS[request.param]
    if chosen.library is not None:
        pytest.importorskip(chosen.library)
    return chosen
