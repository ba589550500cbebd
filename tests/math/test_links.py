import math

import numpy as np
import pytest

from featgrad.math.formulas import LINKS, probit


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("explained", [0.05, 0.3, 0.6])
def test_derivative(name: str, explained: float):
    step = 1e-6
    _, slope = LINKS[name](explained)
    difference = LINKS[name](explained + step)[0] - LINKS[name](explained - step)[0]
    assert slope == pytest.approx(difference / (2 * step), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "explained", "expected"),
    [("residual", 0.3, 0.7), ("root", 0.25, 0.25), ("probit", 1 / math.pi, 0.25)],
)
def test_values(name: str, explained: float, expected: float):
    assert LINKS[name](explained)[0] == pytest.approx(expected)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("explained", [-0.5, 0.0, 1.0, 1.3])
def test_estimates_beyond_the_bounds_stay_finite(name: str, explained: float):
    loss, slope = LINKS[name](explained)
    assert math.isfinite(loss)
    assert math.isfinite(slope)
    assert slope < 0


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
def test_probit_is_the_error_rate_of_the_best_cut(rho: float):
    rng = np.random.default_rng(0)
    score = rng.standard_normal(400_000)
    y = rho * score + np.sqrt(1 - rho**2) * rng.standard_normal(400_000) > 0
    explained = float(np.corrcoef(score, y)[0, 1] ** 2)
    assert probit(explained)[0] == pytest.approx(np.mean((score > 0) != y), abs=0.004)
