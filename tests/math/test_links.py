import math

import numpy as np
import pytest

from featgrad.math.links import LINKS, probit, probit_error_rate


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


def simulated_error_rate(rho: float, threshold: float) -> tuple[float, float, float]:
    """Explained fraction, share of the positive class, error rate of the best cut."""
    rng = np.random.default_rng(0)
    score = rng.standard_normal(400_000)
    y = rho * score + np.sqrt(1 - rho**2) * rng.standard_normal(400_000) > threshold
    cuts = np.linspace(-4, 4, 161)
    errors = [np.mean((score > cut) != y) for cut in cuts]
    return float(np.corrcoef(score, y)[0, 1] ** 2), float(y.mean()), float(min(errors))


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("threshold", [0.0, 0.8, -1.2])
def test_error_rate_of_the_probit_model(rho: float, threshold: float):
    explained, share, expected = simulated_error_rate(rho, threshold)
    assert probit_error_rate(explained, share) == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("explained", [0.05, 0.3, 0.6])
def test_balanced_error_rate_is_the_link(explained: float):
    assert probit_error_rate(explained, 0.5) == pytest.approx(probit(explained)[0], abs=1e-4)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_nothing_explained_leaves_the_rarer_class(share: float):
    assert probit_error_rate(0.0, share) == pytest.approx(min(share, 1 - share))
    assert probit_error_rate(-0.2, share) == pytest.approx(min(share, 1 - share))


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_all_explained_leaves_no_error(share: float):
    assert probit_error_rate(1.0, share) == pytest.approx(0.0, abs=2e-3)
