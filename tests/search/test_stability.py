import numpy as np
import pytest

from featgrad.search.stability import Stability, agreement, of_pairs
from featgrad.search.units import Units


def published(Z: np.ndarray) -> tuple[float, float]:
    """Index and its variance, transcribed from Nogueira, Sechidis & Brown (2018)."""
    M, d = Z.shape
    p = Z.mean(axis=0)
    k_mean = Z.sum() / M
    chance = k_mean / d * (1 - k_mean / d)
    index = 1 - np.mean(M / (M - 1) * p * (1 - p)) / chance
    phi = []
    for z in Z:
        k = z.sum()
        inner = np.mean(z * p) - k * k_mean / d**2
        inner += index / 2 * (2 * k_mean * k / d**2 - k / d - k_mean / d + 1)
        phi.append(inner / chance)
    return index, 4 / M**2 * np.sum((np.array(phi) - np.mean(phi)) ** 2)


def random_choices(count: int, n_features: int, seed: int = 0) -> np.ndarray:
    """Features that are likelier the earlier they stand, so that choices agree in part."""
    rng = np.random.default_rng(seed)
    return rng.random((count, n_features)) < np.linspace(0.9, 0.05, n_features)


@pytest.mark.parametrize("seed", range(3))
def test_index_and_interval_are_the_published_ones(seed: int):
    chosen = random_choices(12, 15, seed)
    found, (low, high) = agreement(chosen)
    index, variance = published(chosen.astype(float))
    assert found == pytest.approx(index)
    assert low == pytest.approx(index - 1.959964 * np.sqrt(variance))
    assert high == pytest.approx(min(1, index + 1.959964 * np.sqrt(variance)))


def test_equal_choices_agree_fully():
    chosen = np.tile(np.arange(10) < 3, (5, 1))
    index, interval = agreement(chosen)
    assert index == 1
    assert interval == pytest.approx((1, 1))


@pytest.mark.parametrize("everything", [True, False])
def test_there_is_one_way_to_choose_all_or_nothing(everything: bool):
    assert agreement(np.full((5, 4), everything)) == (1, (1, 1))


def test_random_choices_agree_by_chance():
    rng = np.random.default_rng(0)
    chosen = np.array([rng.permutation(50) < 10 for _ in range(400)])
    assert agreement(chosen)[0] == pytest.approx(0, abs=0.01)


def stability(n_candidates: int, mean_size: float, n_pairs: int) -> Stability:
    return Stability(np.zeros(n_candidates), 0.0, (0, 0), n_pairs, n_candidates, mean_size)


def test_what_is_chosen_most_often_is_printed_first():
    found = Stability(np.array([0.5, 0.0, 1.0]), 0.4, (0.1, 0.7), 5, 3, 1.5, ["a", "b", "c\x1b"])
    assert str(found).splitlines() == [
        "choices from 5 pairs of halves agree by 0.40 (0.10 to 0.70)",
        "",
        "feature  chosen from",
        "c\\u001b  100%",
        "a        50%",
    ]


def test_units_count_once_and_kept_ones_not_at_all():
    units = Units(np.array([0, 0, 1, 2, 2, -1]), np.array([2.0, 1, 2]), np.array([0, 0, 1], bool))
    chosen = np.array([[1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 1, 0]], bool)
    found = of_pairs(chosen, units)
    np.testing.assert_array_equal(found.frequencies, [1, 1, 0.5, 1, 1, 0])
    assert (found.n_pairs, found.n_candidates, found.mean_size) == (1, 2, 1.5)
    assert found.features(0.75).tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        # q^2 / p / (2 threshold - 1)
        (0.6, {"none": 0.5, "unimodal": 0.1 / (2 * (0.2 - 0.01))}),
        (0.75, {"none": 0.2, "unimodal": 0.1 / (2 * (0.5 - 0.01))}),
        (0.9, {"none": 0.125, "unimodal": 0.1 * 4 * (0.1 + 0.01) / 1.02}),
        (1.0, {"none": 0.1, "unimodal": 0.1 * 4 * 0.01 / 1.02}),
    ],
)
def test_bounds_are_the_published_ones(threshold: float, expected: dict):
    """Theorems 1 and 2 of Shah & Samworth (2013), at 50 pairs, q = 10 of p = 1000."""
    found = stability(1000, 10, 50)
    for assumption, bound in expected.items():
        assert found.false_bound(threshold, assumption) == pytest.approx(bound)


def test_bound_without_assumptions_where_the_other_does_not_apply():
    found = stability(10, 7, 50)
    assert found.false_bound(0.8) == found.false_bound(0.8, "none")


@pytest.mark.parametrize("threshold", [0.5, 1.1])
def test_thresholds_have_to_be_above_one_half(threshold: float):
    with pytest.raises(ValueError, match="give a share above 0"):
        stability(10, 2, 5).false_bound(threshold)


def test_bound_holds_for_choices_of_noise():
    """Means of noise, the ten largest from each half: all that are chosen often are false."""
    rng = np.random.default_rng(0)
    units = Units(np.arange(100), np.ones(100), np.zeros(100, bool))
    often, bounds = [], []
    for _ in range(200):
        rows = rng.standard_normal((40, 100))
        pairs = [np.split(rng.permutation(rows), 2) for _ in range(10)]
        means = np.array([half.mean(axis=0) for pair in pairs for half in pair])
        found = of_pairs(means >= np.sort(means, axis=1)[:, [-10]], units)
        often.append(len(found.features(0.75)))
        bounds.append(found.false_bound(0.75))
    assert 0 < np.mean(often) <= np.mean(bounds)
