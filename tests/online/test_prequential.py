"""Alarms: how often they are false, and how soon they come."""

import numpy as np
import pytest

from featgrad.online.prequential import ChangeDetector, threshold

ERRORS = {
    "normal rows": lambda rng, blocks: rng.chisquare(100, blocks) / 100,
    "heavy tails": lambda rng, blocks: np.mean(rng.standard_t(6, (blocks, 100)) ** 2, axis=1),
}


def alarms(errors: np.ndarray, rate: float) -> list[int]:
    """Blocks that raise an alarm."""
    detector, found = ChangeDetector(rate, half_life=2000), []
    for block, error in enumerate(errors):
        residuals = np.sqrt([[error]])
        if detector.add(residuals, residuals):
            found.append(block)
            detector.restart()
    return found


@pytest.mark.parametrize("kind", ERRORS)
def test_false_alarms_are_no_more_than_stated(kind: str):
    errors = ERRORS[kind](np.random.default_rng(0), 30_000)  # 3 million rows
    assert len(alarms(errors, rate=1e-5)) <= 30


@pytest.mark.parametrize(("rise", "blocks"), [(1.5, 5), (1.2, 15), (1.1, 45)])
def test_delay_of_alarms(rise: float, blocks: int):
    errors = ERRORS["normal rows"](np.random.default_rng(0), 400)
    errors[200:] *= rise
    first = alarms(errors, rate=1e-6)[0]
    assert 200 <= first < 200 + blocks


def test_lower_rates_have_higher_thresholds():
    assert threshold(1e-3) < threshold(1e-5)


def test_what_is_still_true_is_the_slope_since_errors_rose():
    rng, detector = np.random.default_rng(0), ChangeDetector(1e-6, half_life=2000)
    for block in range(200):
        predictions, noise = rng.standard_normal((2, 1000, 1))
        slope = 1.0 if block < 100 else 0.25
        outputs = slope * predictions + noise
        if detector.add(outputs, outputs - predictions):
            break
    assert block > 100
    assert detector.still_true == pytest.approx(0.25, abs=0.1)
