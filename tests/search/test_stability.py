import numpy as np
import pytest

from featgrad.search.stability import agreement


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
    found = agreement(chosen)
    index, variance = published(chosen.astype(float))
    assert found.index == pytest.approx(index)
    assert found.interval[0] == pytest.approx(index - 1.959964 * np.sqrt(variance))
    assert found.interval[1] == pytest.approx(min(1, index + 1.959964 * np.sqrt(variance)))
    np.testing.assert_allclose(found.frequencies, chosen.mean(axis=0))


def test_equal_choices_agree_fully():
    chosen = np.tile(np.arange(10) < 3, (5, 1))
    found = agreement(chosen)
    assert found.index == 1
    assert found.interval == pytest.approx((1, 1))


@pytest.mark.parametrize("everything", [True, False])
def test_there_is_one_way_to_choose_all_or_nothing(everything: bool):
    found = agreement(np.full((5, 4), everything))
    assert found.index == 1
    assert found.interval == (1, 1)


def test_random_choices_agree_by_chance():
    rng = np.random.default_rng(0)
    chosen = np.array([rng.permutation(50) < 10 for _ in range(400)])
    assert agreement(chosen).index == pytest.approx(0, abs=0.01)
