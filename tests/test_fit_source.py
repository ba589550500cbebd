"""The search for k features on rows that are read block by block."""

import numpy as np
import pytest
from scipy import sparse

from featgrad import FeatureGradientSelector, MiniBatch, WorkingSet, plan
from featgrad.columns import sums
from featgrad.columns.sums import Affine
from featgrad.dataset import reread
from featgrad.readers import open_source

CONTAINERS = [np.asarray, sparse.csr_array]


def planted(n_rows: int = 600, n_features: int = 40, seed: int = 0):
    """Three of the columns decide the target; every second column is half zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1::2] *= rng.random(X[:, 1::2].shape) < 0.5
    chosen = np.sort(rng.choice(n_features, 3, replace=False))
    y = X[:, chosen].sum(axis=1) + 0.5 * rng.standard_normal(n_rows)
    return X, y, chosen.tolist()


def select(k, **options) -> FeatureGradientSelector:
    return FeatureGradientSelector(k, **({"random_state": 0} | options))


def support(selector: FeatureGradientSelector) -> list[int]:
    return selector.get_support(indices=True).tolist()


@pytest.fixture(params=["few columns", "many columns"])
def many(request: pytest.FixtureRequest, monkeypatch) -> bool:
    """Whether columns are taken for too many to keep all their products."""
    if request.param == "many columns":
        monkeypatch.setattr(plan, "MOMENT_ENTRIES", 0)
    return request.param == "many columns"


class Watched:
    """A source that counts how often it is read."""

    def __init__(self, source) -> None:
        self._source, self.passes = source, 0

    def __getattr__(self, name):
        return getattr(self._source, name)

    def __iter__(self):
        self.passes += 1
        return iter(self._source)


@pytest.mark.parametrize("container", CONTAINERS)
# The class between the two others is not linear in the columns.
@pytest.mark.filterwarnings("ignore:The square of")
@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_planted_features_are_found(container, kind: str, many: bool):
    X, y, chosen = planted()
    target = {
        "regression": y,
        "binary": np.where(y > 0, "yes", "no"),
        "multiclass": np.digitize(y, [-1, 1]),
    }[kind]
    selector = select(3).fit_source(open_source(container(X), target=target, block_rows=64))
    assert support(selector) == chosen
    assert selector.task_ == kind


@pytest.mark.parametrize("container", CONTAINERS)
def test_blocks_do_not_matter(container):
    X, y, _ = planted(300)
    fitted = [
        select(5).fit_source(open_source(container(X), target=y, block_rows=rows))
        for rows in (11, 128, 1000)
    ]
    for other in fitted[1:]:
        assert support(other) == support(fitted[0])
        assert other.learnability_.value == pytest.approx(fitted[0].learnability_.value, rel=1e-4)


def test_sorted_rows_do_not_matter(many: bool):
    X, y, chosen = planted()
    order = np.argsort(y)
    selector = select(3).fit_source(open_source(X[order], target=y[order], block_rows=50))
    assert support(selector) == chosen
    in_memory = select(3).fit(X, y).learnability_
    assert selector.learnability_.value == pytest.approx(
        in_memory.value, abs=3 * in_memory.standard_error
    )


def test_the_source_is_read_so_often_whatever_is_asked_for(many: bool):
    X, y, _ = planted(300)
    source = Watched(open_source(X, target=y, block_rows=50))
    select("auto", path_sizes=[1, 3, 6], n_resamples=2).fit_source(source)
    assert source.passes == (10 if many else 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"n_features_to_select": 20}, 2 + 2 * 2 + 2),  # two rounds
        ({"n_features_to_select": 20, "estimate": False}, 2 + 2 * 2),
        ({}, 2 + 2 * 3 + 2 + 1 + 8),  # three rounds, and sizes above 30
        ({"n_features_to_select": 5, "search": MiniBatch()}, 1 + 4),
    ],
)
@pytest.mark.filterwarnings("ignore::featgrad.DataWarning")
def test_a_wide_source_is_read_as_often_as_documented(options, expected: int):
    X = np.random.default_rng(0).normal(size=(400, 1500))
    source = Watched(open_source(X, target=X[:, :40].sum(axis=1), block_rows=100))
    FeatureGradientSelector(random_state=0, **options).fit_source(source)
    assert source.passes == expected


@pytest.mark.parametrize("container", CONTAINERS)
def test_few_columns_are_chosen_as_many_are(container, monkeypatch):
    X, y, _ = planted(1000)
    X[:, 3] = np.exp(X[:, 3])
    source = open_source(container(X), target=y, block_rows=150)
    few = select(6).fit_source(source)
    monkeypatch.setattr(plan, "MOMENT_ENTRIES", 0)
    many = select(6).fit_source(source)
    np.testing.assert_allclose(few.scores_, many.scores_, rtol=1e-2, atol=1e-3)
    assert few.learnability_.value == pytest.approx(many.learnability_.value)


def test_no_more_than_a_block_is_worked_on_at_once(many: bool, monkeypatch):
    """What is kept of the rows of all blocks is cut down to some columns first."""
    X, y, chosen = planted(600)
    seen = []

    class Seeing(Affine):
        def __call__(self, X):
            seen.append(X.shape[0])
            return super().__call__(X)

    monkeypatch.setattr(sums, "Affine", Seeing)
    selector = select(3).fit_source(open_source(X, target=y, block_rows=64))
    assert max(seen) == 64
    assert support(selector) == chosen


def test_learnability_is_told_from_some_of_many_rows(monkeypatch):
    X, y, _ = planted(2000)
    source = open_source(X, target=y, block_rows=500)
    whole = select(3).fit_source(source).learnability_
    monkeypatch.setattr(reread, "ESTIMATE_ROWS", 500)
    some = select(3).fit_source(source).learnability_
    assert some.value == pytest.approx(whole.value, abs=0.1)
    assert some.standard_error > 1.5 * whole.standard_error


def test_number_is_chosen_on_held_out_rows():
    X, y, chosen = planted()
    source = open_source(X, target=y, block_rows=100)
    selector = select("auto", path_sizes=[1, 2, 3, 5, 8]).fit_source(source)
    assert support(selector) == chosen
    assert [point.size for point in selector.path_] == [1, 2, 3, 5, 8]
    assert selector.at(5).n_features_ == 5


def test_fraction_of_features():
    X, y, _ = planted(300)
    assert select(0.1).fit_source(open_source(X, target=y)).n_features_ == 4


def test_constraints_hold():
    X, y, chosen = planted(300)
    other = next(i for i in range(40) if i not in chosen)
    selector = select(3, keep=[other], exclude=[chosen[0]]).fit_source(open_source(X, target=y))
    assert support(selector) == sorted([other, *chosen[1:]])


def test_costs_hold():
    X, y, chosen = planted(300)
    selector = select("auto", costs={chosen[0]: 10}, max_cost=2)
    assert support(selector.fit_source(open_source(X, target=y))) == chosen[1:]


def test_stability_of_planted_features():
    X, y, chosen = planted()
    selector = select(3, n_resamples=4).fit_source(open_source(X, target=y))
    assert selector.stability_.index == 1
    assert np.flatnonzero(selector.stability_.frequencies).tolist() == chosen


def test_rows_of_weight_zero_count_as_absent(many: bool):
    X, y, chosen = planted()
    weight = np.ones(600)
    weight[::3] = 0
    y[::3] = 100 * X[::3, 0]
    selector = select(3).fit_source(open_source(X, target=y, weight=weight, block_rows=70))
    assert support(selector) == chosen


def test_missing_entries_are_refused_or_count_as_means(many: bool):
    X, y, chosen = planted()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    source = open_source(X, target=y, missing="nan", block_rows=100)
    assert support(select(3, missing="mean").fit_source(source)) == chosen
    with pytest.raises(ValueError, match="missing='mean'"):
        select(3, missing="error").fit_source(source)


def test_names_come_from_the_source():
    pandas = pytest.importorskip("pandas")
    X, y, chosen = planted()
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(40)]).assign(y=y)
    selector = select(3).fit_source(open_source(frame, target="y"))
    assert selector.get_feature_names_out().tolist() == [f"x{i}" for i in chosen]
    selector.fit_source(open_source(X, target=y))
    assert not hasattr(selector, "feature_names_in_")


def test_one_row_is_refused():
    X, y, _ = planted(50)
    with pytest.raises(ValueError, match=r"1 row\(s\) of positive weight"):
        select(3).fit_source(open_source(X[:1], target=y[:1]))


def test_negative_weights_are_refused():
    X, y, _ = planted(50)
    with pytest.raises(ValueError, match=r"contains -1\.0"):
        select(3).fit_source(open_source(X, target=y, weight=-np.ones(50)))


def test_constant_target_is_refused():
    X, _, _ = planted(50)
    with pytest.raises(ValueError, match="only one value"):
        select(3).fit_source(open_source(X, target=np.ones(50)))


def test_what_is_no_source_is_refused():
    X, _, _ = planted(50)
    with pytest.raises(ValueError, match="source is of type ndarray"):
        select(3).fit_source(X)


@pytest.mark.parametrize(
    ("named", "option"),
    [
        ("task", {"task": "x"}),
        ("preprocess", {"preprocess": "x"}),
        ("order", {"search": WorkingSet(order=0)}),
    ],
)
def test_options_are_checked_before_anything_is_read(named, option):
    X, y, _ = planted(50)
    source = Watched(open_source(X, target=y))
    with pytest.raises(ValueError, match=named):
        select(3, **option).fit_source(source)
    assert source.passes == 0
