"""Alarms: how often they are false, and how soon they come."""

import numpy as np
import pytest
from scipy.signal import lfilter

from featgrad.online.drift import Dependence, ErrorIncrease, Prequential, Shift, alarm_height


def correlated(rng, blocks: int, correlation: float = 0.5) -> np.ndarray:
    """Values of variance 1 that depend on those before."""
    noise = np.sqrt(1 - correlation**2) * rng.standard_normal(blocks)
    return lfilter([1], [1, -correlation], noise)


ERRORS = {
    "normal rows": lambda rng, blocks: rng.chisquare(100, blocks) / 100,
    "heavy tails": lambda rng, blocks: np.mean(rng.standard_t(6, (blocks, 100)) ** 2, axis=1),
    "blocks that depend on those before": lambda rng, blocks: np.exp(0.1 * correlated(rng, blocks)),
    "a few large errors": lambda rng, blocks: np.exp(0.1 * rng.gamma(2, size=blocks)),
}


def alarms(errors: np.ndarray, rate: float) -> list[int]:
    """Blocks that raise an alarm."""
    detector, found = ErrorIncrease(rate, half_life=2000), []
    for block, error in enumerate(errors):
        residuals = np.sqrt([[error]])
        if detector.add(residuals, residuals):
            found.append(block)
            detector = ErrorIncrease(rate, half_life=2000)
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
    assert alarm_height(1e-3, 0.5) < alarm_height(1e-5, 0.5)


def test_what_is_still_true_is_the_slope_since_errors_rose():
    rng, detector = np.random.default_rng(0), ErrorIncrease(1e-6, half_life=2000)
    for block in range(200):
        predictions, noise = rng.standard_normal((2, 1000, 1))
        slope = 1.0 if block < 100 else 0.25
        outputs = slope * predictions + noise
        if detector.add(outputs, outputs - predictions):
            break
    assert block > 100
    assert detector.still_true == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize("repeats", [1, 10])
def test_set_that_predicts_as_well_raises_no_more_shifts_than_stated(repeats: int):
    rng, shift, found = np.random.default_rng(0), Shift(1e-5, half_life=2000), 0
    for _ in range(10_000):  # 1 million rows
        rows = rng.standard_normal((3, 100 // repeats, 1))
        noise, before, now = np.repeat(rows, repeats, axis=1)
        if shift.add(noise + before, noise + now):
            found += 1
            shift.height = 0.0
    assert found <= 10


def test_set_that_predicts_worse_raises_a_shift():
    rng, shift = np.random.default_rng(0), Shift(1e-6, half_life=2000)
    blocks = (rng.standard_normal((2, 100, 1)) for _ in range(50))
    assert any(shift.add(noise + lost, noise) for noise, lost in blocks)


@pytest.mark.parametrize("outlier", [0.0, 1e4])
def test_rows_that_repeat_each_other_count_once(outlier: float):
    rng, dependence = np.random.default_rng(0), Dependence(half_life=2000)
    for block in range(200):
        columns, residuals = rng.standard_normal((25, 8)), rng.standard_normal((25, 1))
        columns[0, 0] += outlier * (block == 190)
        dependence.add_block(np.repeat(columns, 4, axis=0), np.repeat(residuals, 4, axis=0))
    assert dependence.factor == pytest.approx(4, rel=0.1)


def test_dependence_leaves_out_columns_that_do_not_vary():
    rng, dependence = np.random.default_rng(0), Dependence(half_life=2000)
    for _ in range(200):
        columns, residuals = rng.standard_normal((100, 8)), rng.standard_normal((100, 1))
        columns[:, 4:] = -0.1
        dependence.add_block(columns, residuals + 1)
    assert dependence.factor < 1.3


def test_error_of_learnability_counts_rows_that_repeat_each_other_once():
    rng, once, repeated = np.random.default_rng(0), Prequential(2000), Prequential(2000)
    for _ in range(200):
        predictions, residuals = rng.standard_normal((2, 25, 1))
        rows = predictions + residuals, residuals
        once.add(*rows, np.ones(25))
        repeated.add(*(np.repeat(part, 4, axis=0) for part in rows), np.ones(100))
    expected = once.learnability(1).standard_error
    assert repeated.learnability(1).standard_error == pytest.approx(expected, rel=0.15)
