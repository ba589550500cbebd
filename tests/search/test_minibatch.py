"""The search over all columns, batch of rows by batch."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from dataset_builders import in_memory, streamed
from featgrad import FeatureGradientSelector, MiniBatch
from featgrad.dataset.base import Dataset
from featgrad.dataset.checkpoint import take_up
from featgrad.math import formulas
from featgrad.moments.running import RunningSums
from featgrad.plan import BATCH_STEPS
from featgrad.readers import open_source
from featgrad.search.base import Job, Subset, go_on
from featgrad.search.masks import BatchDescent, BudgetMask
from featgrad.search.units import Budgets
from search_data import singles, units_of

N_ROWS, N_COLUMNS, N_PLANTED = 1500, 1600, 505
# What the largest correlations with the target recall; a third would be found by chance.
BY_CORRELATION = 0.62
CONSTANT = N_COLUMNS - 1
COEFFICIENTS = formulas.coefficients("monotone", 4)


@pytest.fixture(scope="module")
def planted():
    """Rows of mostly zeros whose target is a sum over every third column, the last one constant."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, N_COLUMNS), density=0.1, random_state=rng, format="lil")
    X[:, CONSTANT] = 1.0
    X = sparse.csr_array(X, dtype=np.float32)
    X.data[:] = 1
    planted = np.arange(0, 3 * N_PLANTED, 3)
    y = X[:, planted] @ rng.choice([-0.9, 1.1], N_PLANTED)
    return X, y, planted


def from_source(X, y) -> Dataset:
    return streamed(X, y[:, None], block_rows=100)


STORAGES = {
    "dense": lambda X, y: in_memory(X.toarray(), y),
    "CSR": in_memory,
    "streamed": lambda X, y: from_source(X.toarray(), y),
    "streamed CSR": from_source,
}


def job_for(dataset: Dataset, units=None, size: int | None = None, on_step=go_on) -> Job:
    units = singles(dataset.n_features) if units is None else units
    budgets = Budgets(units, [] if size is None else [float(size)], 0)
    return Job(dataset, budgets, False, 0, on_step, np.random.RandomState(0))


def search(dataset: Dataset, units=None, size: int = N_PLANTED, on_step=go_on, **own) -> Subset:
    (found,) = MiniBatch(**own).run(job_for(dataset, units, size, on_step)).subsets
    return found


@pytest.fixture(scope="module")
def found(planted) -> Subset:
    return search(in_memory(*planted[:2]))


@pytest.mark.parametrize("storage", STORAGES)
def test_planted_columns_are_found(planted, storage: str):
    X, y, columns = planted
    found = search(STORAGES[storage](X, y))
    assert np.isin(columns, found.features).mean() > BY_CORRELATION


def test_correlations_recall_no_more_than_stated(planted):
    X, y, columns = planted
    marginals = np.sum(in_memory(X, y).cross() ** 2, axis=1)
    best = np.argsort(-marginals)[:N_PLANTED]
    assert np.isin(columns, best).mean() <= BY_CORRELATION


def test_scores_tell_the_chosen(found: Subset):
    np.testing.assert_array_equal(np.flatnonzero(found.scores > 0), found.features)
    assert len(found.features) == found.budget == N_PLANTED


def test_constant_column_comes_last(found: Subset):
    assert np.argmin(found.scores) == CONSTANT


def test_kept_and_excluded_columns(planted):
    X, y, columns = planted
    of_column = np.full(N_COLUMNS, -1)
    usable = np.setdiff1d(np.arange(N_COLUMNS), columns[:5])
    of_column[usable] = np.arange(len(usable))
    units = units_of(of_column, kept=of_column[[1, 2]])
    found = search(in_memory(X, y), units)
    assert {1, 2} <= set(found.features)
    assert not set(columns[:5]) & set(found.features)
    assert len(found.features) == N_PLANTED
    assert set(np.argsort(found.scores)[:5]) == set(columns[:5])


@pytest.mark.parametrize("size", [1, 5, 12])
def test_any_number_of_columns_can_be_chosen(size: int):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 12))
    y = X[:, :size].sum(axis=1) + 0.5 * rng.standard_normal(500)
    found = search(in_memory(X, y), size=size)
    assert found.features.tolist() == list(range(size))


def test_columns_that_are_all_kept_or_excluded():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 4)), rng.standard_normal(100)
    found = search(in_memory(X, y), units_of([0, -1, 1, -1], kept=[0, 1]), size=2)
    assert found.features.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("batch_size", "n_epochs", "expected"),
    [(100, 1, 15), (100, 2, 30), (400, 1, 4), (5000, 1, BATCH_STEPS), (None, 1, BATCH_STEPS)],
)
def test_number_of_steps(planted, batch_size, n_epochs: int, expected: int):
    """One for each batch of rows and one for those left over; enough where one takes all rows."""
    X, y, _ = planted
    found = search(in_memory(X, y), batch_size=batch_size, n_epochs=n_epochs)
    assert len(found.steps) == pytest.approx(expected, abs=1 if batch_size is None else 0)


def test_masks_spend_the_budget(found: Subset):
    np.testing.assert_allclose([step.size for step in found.steps], N_PLANTED, rtol=0.03)


def test_masks_spend_the_budget_on_kept_columns_too(planted):
    X, y, _ = planted
    found = search(in_memory(X, y), singles(N_COLUMNS, kept=range(200)), batch_size=100)
    np.testing.assert_allclose([step.size for step in found.steps], N_PLANTED, rtol=0.03)


def test_stops_when_told_to(planted):
    X, y, _ = planted
    heard = []

    def on_step(step, scores):
        heard.append(step)
        return len(heard) == 3

    found = search(in_memory(X, y), n_epochs=2, on_step=on_step)
    assert found.steps == heard
    assert len(heard) == 3


def test_descent_goes_on_from_its_state(planted):
    X, y, _ = planted
    dataset = in_memory(X, y)
    cross = dataset.cross()

    def made() -> tuple[BatchDescent, BudgetMask]:
        mask = BudgetMask(singles(N_COLUMNS), 20, np.sum(cross**2, axis=1), 40, go_on)
        scales = dataset.standardiser.mean, np.ones(N_COLUMNS)
        return BatchDescent(dataset, RunningSums(cross, *scales, COEFFICIENTS, 5.0), mask, 37), mask

    (whole, mask), (resumed, other) = made(), made()
    for rows in (slice(0, 37), slice(37, 60)):
        whole.add(dataset._outputs[rows], dataset._weights[rows], X[rows])
    take_up(resumed, pickle.loads(pickle.dumps(whole)))
    for descent in (whole, resumed):
        descent.run("again", 1)
    np.testing.assert_array_equal(other.subset().scores, mask.subset().scores)


def test_path_has_all_sizes(planted):
    X, y, _ = planted
    selector = FeatureGradientSelector(600, path_sizes=[20, 700], random_state=0).fit(X, y)
    assert [len(point.features) for point in selector.path_] == [20, 600, 700]


@pytest.mark.parametrize("asked", [{"n_resamples": 2}, {"n_features_to_select": "auto"}])
def test_what_large_sets_cannot_have(planted, asked):
    X, y, _ = planted
    selector = FeatureGradientSelector(
        **{"n_features_to_select": 600, "path_sizes": [600], **asked}
    )
    with pytest.raises(ValueError, match="is not repeated"):
        selector.fit(X, y)


def test_interrupted_search_goes_on_alike(planted, tmp_path, monkeypatch):
    from featgrad.dataset.checkpoint import Checkpoint

    monkeypatch.setattr(Checkpoint, "every_s", 0.0)
    X, y, _ = planted
    selector = FeatureGradientSelector(N_PLANTED, random_state=0)
    whole = open_source(X, target=y, block_rows=500)
    expected = selector.fit_source(whole).scores_

    class Cut:
        """Ends with an error in the middle of the fourth reading, that of the search."""

        readings = 0

        def __getattr__(self, name):
            return getattr(whole, name)

        def __iter__(self):
            self.readings += 1
            for i, block in enumerate(whole):
                if self.readings == 4 and i == 2:
                    raise InterruptedError
                yield block

    with pytest.raises(InterruptedError):
        selector.fit_source(Cut(), checkpoint=tmp_path / "fit.npz")
    resumed = selector.fit_source(whole, checkpoint=tmp_path / "fit.npz").scores_
    np.testing.assert_array_equal(resumed, expected)


def penalised(dataset: Dataset, penalty: float, max_iter: int = 1000) -> Subset:
    """Without the rows at hand, as where they are read block by block."""
    dataset.row_moments = lambda: None
    search = MiniBatch(penalty=penalty, link="residual", tol=0.0, batch_size=100, max_iter=max_iter)
    (found,) = search.run(job_for(dataset)).subsets
    return found


@pytest.fixture(scope="module")
def five_of_thirty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30))
    return X, X[:, :5].sum(axis=1) + rng.normal(size=4000)


@pytest.mark.parametrize("storage", [in_memory, from_source])
def test_penalty_leaves_the_planted_columns(five_of_thirty, storage):
    found = penalised(storage(*five_of_thirty), 0.5)
    assert np.flatnonzero(found.scores > 0).tolist() == [0, 1, 2, 3, 4]


def test_large_penalty_leaves_nothing(five_of_thirty):
    assert not np.any(penalised(in_memory(*five_of_thirty), 1000.0).scores > 0)


@pytest.mark.parametrize(("max_iter", "expected"), [(7, 7), (1000, 40)])
def test_steps_under_a_penalty_are_limited(five_of_thirty, max_iter: int, expected: int):
    assert len(penalised(in_memory(*five_of_thirty), 0.5, max_iter).steps) == expected


@pytest.mark.parametrize("n_rows", [300, 1500])
def test_a_penalty_chooses_from_a_small_source_as_from_memory(n_rows: int):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 20))
    y = X[:, 3] - X[:, 7] + 0.5 * rng.standard_normal(n_rows)
    selector = FeatureGradientSelector(search=MiniBatch(0.3), estimate=False, random_state=0)
    assert np.flatnonzero(selector.fit(X, y).get_support()).tolist() == [3, 7]
    selector.fit_source(open_source(X, target=y))
    assert np.flatnonzero(selector.get_support()).tolist() == [3, 7]
