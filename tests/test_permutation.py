import numpy as np
import pytest

from featgrad import FeatureGradientSelector, MiniBatch, permutation_test


def table(strength: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 8))
    return X, strength * X[:, 0] + rng.standard_normal(60)


def test_a_clear_signal_beats_all_shuffled_targets():
    selector = FeatureGradientSelector(1, random_state=0)
    found = permutation_test(selector, *table(2.0), n_permutations=19, random_state=0)
    assert found.p_value == 0.05
    assert found.score > found.shuffled.max()
    assert not hasattr(selector, "path_")


def test_p_values_of_noise_are_even():
    """Twelve of them lie below and above one half; all on one side would be one in 2,000."""
    selector = FeatureGradientSelector(1, random_state=0)
    p_values = [
        permutation_test(selector, *table(0.0, seed), n_permutations=9, random_state=0).p_value
        for seed in range(12)
    ]
    assert min(p_values) < 0.5 < max(p_values)


def test_searches_without_held_out_scores_are_refused():
    selector = FeatureGradientSelector(search=MiniBatch(penalty=1.0, max_iter=2))
    with pytest.raises(ValueError, match=r"MiniBatch\(.*\) with 60 rows has no held-out score"):
        permutation_test(selector, *table(1.0))
