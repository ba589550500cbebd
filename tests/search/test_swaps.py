import numpy as np

from featgrad.engines.folds import Folds, make_fold
from featgrad.search.swaps import swapped
from featgrad.search.units import Units


def noisy_copies(n_rows: int, noise: float, seed: int = 0) -> tuple[Folds, Units]:
    """Columns 0 and 1 decide y; columns 2 and 3 are noisy copies of them; six more are noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 10))
    X[:, 2:4] = (X[:, :2] + 0.5 * X[:, 2:4]) / np.sqrt(1.25)
    y = X[:, :1] + X[:, 1:2] + noise * rng.standard_normal((n_rows, 1))
    values = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    outputs = (y - y.mean()) / y.std()
    parts = np.array_split(np.arange(n_rows), 8)
    weights = np.full(n_rows, 1 / n_rows)
    folds = Folds([make_fold(values[part], outputs[part], weights[part]) for part in parts])
    return folds, Units(np.arange(10), np.ones(10), np.zeros(10, bool))


def only(*members: int) -> np.ndarray:
    return np.isin(np.arange(10), members)


def test_copies_are_swapped_for_the_originals():
    folds, units = noisy_copies(400, noise=0.2)
    np.testing.assert_array_equal(swapped(folds, units, only(2, 3)), only(0, 1))


def test_the_best_set_stays():
    folds, units = noisy_copies(400, noise=0.2)
    np.testing.assert_array_equal(swapped(folds, units, only(0, 1)), only(0, 1))


def test_kept_units_stay():
    folds, units = noisy_copies(400, noise=0.2)
    units = Units(units.of_column, units.costs, only(2))
    assert swapped(folds, units, only(2, 3))[2]


def test_gains_within_chance_do_not_pay():
    """Where noise drowns the target any set is as good as another."""
    for seed in range(5):
        folds, units = noisy_copies(400, noise=1e6, seed=seed)
        np.testing.assert_array_equal(swapped(folds, units, only(6, 7)), only(6, 7))
