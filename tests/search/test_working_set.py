"""The search over all columns by working sets and prices."""

import numpy as np
import pytest
from scipy import sparse

from dataset_builders import folds_of_rows, in_memory, streamed
from featgrad import plan
from featgrad.dataset.all_moments import with_all_moments
from featgrad.dataset.base import Dataset
from featgrad.dataset.sums import Prices
from featgrad.math import formulas
from featgrad.plan import FIRST_SHARPNESS, NEXT_SHARPNESS, ROUNDS
from featgrad.search import rounds
from featgrad.search.base import SearchTask, Subset, go_on
from featgrad.search.units import Units
from search_data import singles, units_of

N_FOLDS = 12
EVERY_FOLD = tuple(range(N_FOLDS))
COEFFICIENTS = formulas.coefficients("monotone", 4)


def search(dataset: Dataset, units: Units, *tasks: SearchTask, max_iter=1000, on_step=go_on):
    return rounds.search(dataset, units, tasks, COEFFICIENTS, max_iter, on_step)


def best(dataset: Dataset, units: Units, budget: float, **options) -> Subset:
    [found] = search(dataset, units, SearchTask(budget, EVERY_FOLD), **options)
    return found


def planted(n_rows: int = 400, n_columns: int = 40, seed: int = 0):
    """Columns of noise, of which the first four explain less and less of the target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    y = X[:, :4] @ np.array([2.0, 1.5, 1.2, 1.0]) + 0.5 * rng.standard_normal(n_rows)
    return X, y


def dataset_of(X, y) -> Dataset:
    return in_memory(X, y, n_folds=N_FOLDS)


VISIBLE, HIDDEN = [100, 110, 120], [400, 410, 420]


def suppressors():
    """Sums of signal and hidden columns: these say nothing by themselves, but clear the sums."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 600))
    signal = rng.standard_normal((800, 3))
    X[:, VISIBLE] = signal + 2 * X[:, HIDDEN]
    return X, signal.sum(axis=1) + 0.3 * rng.standard_normal(800)


@pytest.fixture
def small_working_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "WORKING_SET", 16)
    monkeypatch.setattr(plan, "ENTERING", 16)


STORAGES = {
    "dense": dataset_of,
    "CSR": lambda X, y: dataset_of(sparse.csr_array(X), y),
    "streamed": lambda X, y: streamed(X, y[:, None], n_folds=N_FOLDS, block_rows=300),
    "moments": lambda X, y: with_all_moments(dataset_of(X, y), "zscore"),
}


@pytest.mark.usefixtures("small_working_set")
@pytest.mark.parametrize("storage", STORAGES)
def test_suppressors_outside_the_first_working_set_are_found_by_pricing(storage: str):
    found = best(STORAGES[storage](*suppressors()), singles(600), 6.0)
    assert found.features.tolist() == sorted(VISIBLE + HIDDEN)
    assert found.rounds >= 1


@pytest.mark.usefixtures("small_working_set")
def test_suppressors_are_outside_the_first_working_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "ROUNDS", 0)
    found = best(dataset_of(*suppressors()), singles(600), 6.0)
    assert found.rounds == 0
    assert not set(HIDDEN) & set(found.features)


@pytest.mark.usefixtures("small_working_set")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_rounds_are_limited(monkeypatch: pytest.MonkeyPatch, count: int):
    monkeypatch.setattr(plan, "ROUNDS", count)
    monkeypatch.setattr(Prices, "chance", lambda self, rank=1: -np.inf)
    found = best(dataset_of(*suppressors()), singles(600), 6.0)
    assert found.rounds == count
    assert len(found.steps) == len(FIRST_SHARPNESS) + count * len(NEXT_SHARPNESS)


@pytest.mark.usefixtures("small_working_set")
def test_no_round_follows_one_that_has_not_changed_the_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Prices, "chance", lambda self, rank=1: -np.inf)
    found = best(dataset_of(*planted(n_columns=200)), singles(200), 4.0)
    assert found.features.tolist() == [0, 1, 2, 3]
    assert found.rounds == 1


def test_no_round_follows_where_all_columns_are_in_the_working_set():
    assert best(dataset_of(*planted()), singles(40), 4.0).rounds == 0


@pytest.mark.parametrize("storage", STORAGES)
def test_planted_columns_are_found(storage: str):
    found = best(STORAGES[storage](*planted()), singles(40), 4.0)
    assert found.features.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_a_smooth_signal_are_distinguished_where_noise_is_low(seed: int):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 300))
    for column in range(1, 300):
        X[:, column] += 3 * X[:, column - 1]
        X[:, column] /= np.sqrt(10)
    active = rng.choice(300, 30, replace=False)
    y = X[:, active] @ rng.choice([-1.0, 1.0], 30)
    found = best(dataset_of(X, y), singles(300), 30.0).features
    assert np.mean(np.isin(active, found)) > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_one_of_twins_is_chosen(seed: int):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 8))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(400)
    X[:, 5:] = X[:, :3] + 0.01 * rng.standard_normal((400, 3))
    found = best(dataset_of(X, y), singles(8), 3.0)
    assert {int(column) % 5 for column in found.features} == {0, 1, 2}


@pytest.mark.usefixtures("small_working_set")
def test_kept_units_are_chosen_whatever_they_explain():
    X, y = suppressors()
    found = best(dataset_of(X, y), singles(600, kept=[7, 500]), 8.0)
    assert found.features.tolist() == sorted([7, 500, *VISIBLE, *HIDDEN])


def test_budget_for_kept_units_only():
    found = best(dataset_of(*planted()), singles(40, kept=[10, 20]), 2.0)
    assert found.features.tolist() == [10, 20]


@pytest.mark.usefixtures("small_working_set")
def test_excluded_columns_are_never_chosen():
    X, y = suppressors()
    of_column = np.arange(600)
    of_column[VISIBLE[0]] = -1
    of_column[VISIBLE[0] + 1 :] -= 1
    found = best(dataset_of(X, y), units_of(of_column), 10.0)
    assert VISIBLE[0] not in found.features
    assert len(found.features) == 10
    assert {*VISIBLE[1:], *HIDDEN[1:]} <= set(found.features)


def test_excluded_columns_come_last():
    of_column = np.append(-1, np.arange(39))
    found = best(dataset_of(*planted()), units_of(of_column), 3.0)
    assert np.argmin(found.scores) == 0
    assert found.certificate.feature != 0


def test_groups_are_chosen_whole():
    """Each planted column has a column of noise beside it."""
    of_column = np.tile(np.arange(20), 2)
    found = best(dataset_of(*planted()), units_of(of_column), 6.0)
    assert found.features.tolist() == [0, 1, 2, 20, 21, 22]


@pytest.mark.usefixtures("small_working_set")
def test_groups_outside_the_first_working_set_are_found_by_pricing():
    """Groups of a sum and of a hidden column, each with a column of noise."""
    found = best(dataset_of(*suppressors()), units_of(np.arange(600) // 2), 12.0)
    groups = sorted({int(column) // 2 for column in found.features})
    assert groups == sorted(column // 2 for column in VISIBLE + HIDDEN)


def test_costs_stay_within_the_budget():
    costs = np.linspace(0.5, 3, 40)
    found = best(dataset_of(*planted()), singles(40, costs=costs), 2.5)
    assert costs[found.features].sum() <= 2.5
    assert {0, 1, 2} <= set(found.features)


def test_column_that_costs_more_than_it_is_worth_is_left_out():
    found = best(dataset_of(*planted()), singles(40, costs=[3.0, *[1.0] * 39]), 3.0)
    assert found.features.tolist() == [1, 2, 3]


def test_unit_that_costs_more_than_the_budget_does_not_drive_out_others():
    """The group explains most by far, but cannot be had."""
    X, y = planted()
    units = units_of([0, 0, *range(1, 39)], costs=[3.0, *[1.0] * 38])
    assert best(dataset_of(X, y), units, 2.0).features.tolist() == [2, 3]


def test_what_is_left_of_the_budget_is_used():
    """Of two dear columns only one fits; the cheap one, worth less per cost, fits beside it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = 2 * X[:, 0] + 1.9 * X[:, 1] + 0.6 * X[:, 2] + 0.5 * rng.standard_normal(400)
    found = best(dataset_of(X, y), singles(3, costs=[4.0, 4.0, 1.0]), 5.0)
    assert found.features.tolist() == [0, 2]


@pytest.mark.usefixtures("small_working_set")
def test_tasks_together_find_what_they_find_by_themselves():
    X, y = suppressors()
    tasks = [
        SearchTask(6.0, EVERY_FOLD),
        SearchTask(3.0, EVERY_FOLD),
        SearchTask(6.0, (0, 2, 3, 5, 7, 8, 11)),
        SearchTask(6.0, EVERY_FOLD[6:]),
    ]
    together = search(dataset_of(X, y), singles(600), *tasks)
    for task, found in zip(tasks, together, strict=True):
        [alone] = search(dataset_of(X, y), singles(600), task)
        assert found.budget == task.budget
        np.testing.assert_array_equal(found.features, alone.features)
        np.testing.assert_allclose(found.scores, alone.scores, rtol=1e-3, atol=1e-5)


def test_folds_that_are_left_out_have_no_say():
    """Rows of the last folds follow another column."""
    X, y = planted()
    late = folds_of_rows(np.ones(len(y)), N_FOLDS) >= 6
    y[late] = 3 * X[late, 30]
    dataset = dataset_of(X, y)
    first, last = search(
        dataset, singles(40), SearchTask(1.0, EVERY_FOLD[:6]), SearchTask(1.0, EVERY_FOLD[6:])
    )
    assert first.features.tolist() == [0]
    assert last.features.tolist() == [30]


@pytest.mark.parametrize("n_folds", [2, 3])
def test_few_folds_lower_the_order_of_the_filter(n_folds: int):
    [found] = search(dataset_of(*planted()), singles(40), SearchTask(2.0, EVERY_FOLD[:n_folds]))
    assert found.features.tolist() == [0, 1]


def test_scores_are_above_zero_for_chosen_columns_only():
    found = best(dataset_of(*planted()), singles(40), 3.0)
    np.testing.assert_array_equal(np.flatnonzero(found.scores > 0), found.features)


def test_scores_order_columns_by_what_they_explain():
    found = best(dataset_of(*planted()), singles(40), 2.0)
    assert np.argsort(-found.scores)[:4].tolist() == [0, 1, 2, 3]


def test_columns_that_do_not_vary_come_last():
    X, y = planted()
    X[:, [5, 17]] = 0.1
    found = best(dataset_of(X, y), singles(40), 3.0)
    assert set(np.argsort(found.scores)[:2]) == {5, 17}


def test_columns_that_do_not_vary_are_chosen_where_nothing_else_is_left():
    X, y = planted(n_columns=6)
    X[:, 5] = 0.1
    assert 5 not in best(dataset_of(X, y), singles(6), 5.0).features
    assert 5 in best(dataset_of(X, y), singles(6), 6.0).features


def test_certificate_names_the_best_column_that_the_budget_leaves_out():
    certificate = best(dataset_of(*planted()), singles(40), 2.0).certificate
    assert certificate.feature == 2
    assert certificate.best_outside > certificate.chance
    assert best(dataset_of(*planted(800)), singles(40, kept=[9]), 2.0).certificate.suggests_more


@pytest.mark.parametrize("budget", [1.0, 2.0, 3.0])
def test_certificate_estimates_what_the_best_column_would_add(budget: float):
    """The planted columns are independent, so each adds its own share of the variance."""
    X, y = planted(n_rows=4000)
    certificate = best(dataset_of(X, y), singles(40), budget).certificate
    share = np.array([2.0, 1.5, 1.2, 1.0]) ** 2 / y.var()
    # At first order: ridge regression shrinks, and so does the estimate.
    added = share[int(budget)]
    assert 0.2 * added < certificate.best_outside < 1.1 * added


def test_certificate_rarely_suggests_more_where_only_noise_is_left():
    """With some noise inside, the best of it outside is often above the worst inside."""
    found = [
        best(dataset_of(*planted(200, seed=seed)), singles(40), 8.0).certificate
        for seed in range(30)
    ]
    assert sum(each.best_outside > each.worst_inside for each in found) > 10
    assert sum(each.suggests_more for each in found) <= 4


def test_certificate_has_the_least_loss_inside():
    found = best(dataset_of(*planted()), singles(40), 4.0)
    assert found.certificate.worst_inside == pytest.approx(found.scores[found.features].min())


def test_certificate_names_no_column_where_all_are_chosen():
    certificate = best(dataset_of(*planted(n_columns=5)), singles(5), 5.0).certificate
    assert certificate.feature == -1
    assert certificate.best_outside == 0
    assert not certificate.suggests_more


@pytest.mark.usefixtures("small_working_set")
@pytest.mark.parametrize(
    ("max_iter", "expected"),
    [(1, 1), (12, 12), (1000, len(FIRST_SHARPNESS) + ROUNDS * len(NEXT_SHARPNESS))],
)
def test_steps_are_limited_over_all_rounds(monkeypatch, max_iter: int, expected: int):
    monkeypatch.setattr(Prices, "chance", lambda self, rank=1: -np.inf)
    found = best(dataset_of(*suppressors()), singles(600), 6.0, max_iter=max_iter)
    assert len(found.steps) == expected
    assert len(found.features) == 6


@pytest.mark.usefixtures("small_working_set")
def test_search_that_is_told_to_stop_takes_no_further_step():
    heard = []

    def on_step(step, scores):
        heard.append(step)
        return len(heard) == 3

    found = best(dataset_of(*suppressors()), singles(600), 6.0, on_step=on_step)
    assert found.steps == heard
    assert len(heard) == 3


def test_every_step_is_told():
    heard = []
    found = best(dataset_of(*planted()), singles(40), 4.0, on_step=lambda s, _: heard.append(s))
    assert found.steps == heard


@pytest.mark.parametrize("storage", ["rows", "moments"])
@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_certificate_of_centred_columns_does_not_depend_on_their_unit(storage: str, scale: float):
    X, y = planted()
    found = []
    for factor in (1.0, scale):
        dataset: Dataset = in_memory(factor * X, y, n_folds=N_FOLDS, preprocess="center")
        if storage == "moments":
            dataset = with_all_moments(dataset, "center")
        found.append(best(dataset, singles(40), 2.0).certificate)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


def test_certificate_of_some_folds_does_not_depend_on_the_weight_of_others():
    X, y = planted()
    certificates = []
    for heavy in (1.0, 20.0):
        weight = np.where(folds_of_rows(np.ones(len(y)), N_FOLDS) < 6, 1.0, heavy)
        dataset = in_memory(X, y, weight, n_folds=N_FOLDS)
        [found] = search(dataset, singles(40), SearchTask(2.0, EVERY_FOLD[:6]))
        certificates.append(found.certificate)
    np.testing.assert_allclose(certificates[1], certificates[0], rtol=1e-4)


@pytest.mark.parametrize("larger", ["columns", "outputs"])
def test_rows_that_do_not_choose_have_no_say_in_the_scale(larger: str):
    rng = np.random.default_rng(0)
    X, others = rng.standard_normal((400, 40)), folds_of_rows(np.ones(400), N_FOLDS) >= 8
    Y = X[:, :8].reshape(400, 2, 4) @ np.array([1.3, 1.2, 1.1, 1.0])
    Y += rng.standard_normal(Y.shape)
    sets = []
    for factor in (1, 30):
        (X[:, :4] if larger == "columns" else Y[:, :1])[others] *= factor
        [found] = search(dataset_of(X, Y), singles(40), SearchTask(5.0, EVERY_FOLD[:8]))
        sets.append(found.features.tolist())
    assert sets[0] == sets[1]


def test_prices_are_those_of_models_without_the_rows_of_each_fold(monkeypatch):
    dataset, models = dataset_of(*planted()), []
    price = dataset.price

    def recorded(given):
        models.extend(given)
        return price(given)

    monkeypatch.setattr(dataset, "price", recorded)
    search(dataset, singles(40), SearchTask(3.0, EVERY_FOLD[:8]))
    coefficients = models[0].coefficients[:8, :, 0]
    mean = coefficients.mean(axis=0)
    assert np.all(np.abs(coefficients - mean).max(axis=1) > 1e-5)
    np.testing.assert_allclose(coefficients, np.tile(mean, (8, 1)), atol=0.2)
