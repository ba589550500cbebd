"""Selectors that keep a false discovery rate."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad import FeatureGradientSelector, Knockoffs, open_source


def planted(seed: int, n_rows: int = 300, n_features: int = 40, r: float = 0.5):
    """Fifteen of some autoregressive columns decide the target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    for j in range(1, n_features):
        X[:, j] = r * X[:, j - 1] + np.sqrt(1 - r**2) * X[:, j]
    truth = np.zeros(n_features, bool)
    truth[rng.permutation(n_features)[:15]] = True
    y = X[:, truth] @ rng.choice([-0.35, 0.35], 15) + rng.standard_normal(n_rows)
    return X, y, truth


def select(fdr: float = 0.2, **options) -> FeatureGradientSelector:
    return FeatureGradientSelector(search=Knockoffs(fdr), random_state=0, **options)


@pytest.mark.parametrize("target", ["regression", "binary"])
def test_false_discovery_rate_is_kept(target: str):
    shares, found = [], []
    for seed in range(12):
        X, y, truth = planted(seed)
        y = y if target == "regression" else np.sign(y)
        chosen = select().fit(X, y).get_support()
        shares.append(np.sum(chosen & ~truth) / max(1, chosen.sum()))
        found.append(np.mean(chosen[truth]))
    assert np.mean(shares) <= 0.2
    assert np.mean(found) > (0.8 if target == "regression" else 0.4)


def test_few_true_features_are_found_although_knockoffs_choose_many_or_none():
    X, _, _ = planted(0)
    y = X[:, 3] - X[:, 20] + np.random.default_rng(0).standard_normal(len(X))
    for target in (y, np.sign(y)):
        selector = select(0.05).fit(X, target)
        assert selector.get_support(indices=True).tolist() == [3, 20]
        assert selector.ranking_[[3, 20]].max() == 2
        found = selector.discoveries_
        assert found.fewest == 20
        assert found.frequencies.max() == 0
        assert found.p_values[[3, 20]].max() < 1e-6
        assert found.summary.startswith(
            "chosen by p-values: the expected share of false features is"
        )


def test_copies_of_a_true_feature_have_nothing_of_their_own():
    X, _, _ = planted(0)
    X[:, 4] = 3 * X[:, 3] + 1
    y = X[:, 3] - X[:, 20] + np.random.default_rng(0).standard_normal(len(X))
    selector = select(0.05).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [20]
    np.testing.assert_array_equal(selector.discoveries_.p_values[[3, 4]], 1)


def test_nothing_is_chosen_from_noise():
    rng = np.random.default_rng(0)
    selector = select()
    with pytest.warns(UserWarning, match="which does not mean that none matter") as warned:
        selector.fit(rng.standard_normal((100, 20)), rng.standard_normal(100))
    smallest = selector.discoveries_.p_values.min()
    assert "knockoffs choose at least 5 at this rate or none" in str(warned[0].message)
    assert f"single feature, {smallest:.2g}, is too large for 20" in str(warned[0].message)
    assert selector.n_features_ == 0
    assert not selector.get_support().any()
    assert selector.learnability_.value == 0
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(np.zeros((2, 20))).shape == (2, 0)


def test_attributes_describe_the_choice():
    X, y, _ = planted(0)
    selector = select().fit(X, y)
    found, chosen = selector.discoveries_, selector.get_support()
    assert found.fdr == 0.2
    assert chosen.sum() == selector.n_features_ == selector.path_[0].size
    np.testing.assert_array_equal(found.frequencies > 0.5, chosen)
    assert np.all((selector.scores_ > 0) == chosen)
    assert isinstance(selector.plan_.search, Knockoffs)
    assert found.p_values is None
    assert found.exact.dtype == bool
    assert found.summary.endswith(f"exactly, choose {found.exact.sum()}")
    lines = str(found).splitlines()
    assert lines[0] == found.summary
    assert lines[2].split() == ["feature", "statistic", "frequency", "chosen", "exact"]
    assert lines[3].split()[0] == f"x{np.argmax(selector.scores_)}"
    assert FeatureGradientSelector(3).fit(X, y).discoveries_ is None


def test_same_seed_same_choice():
    X, y, _ = planted(1)
    one, other = select().fit(X, y), select().fit(X, y)
    np.testing.assert_array_equal(one.discoveries_.frequencies, other.discoveries_.frequencies)


@pytest.mark.parametrize("container", [pd.DataFrame, sparse.csr_array])
def test_containers_make_no_difference(container):
    X, y, _ = planted(2)
    other = container(X)
    if container is pd.DataFrame:
        other.columns = [f"x{i}" for i in range(X.shape[1])]
    expected, found = (select().fit(data, y).discoveries_.frequencies for data in (X, other))
    np.testing.assert_array_equal(found, expected)


def test_groups_are_chosen_as_one():
    X, y, truth = planted(0, n_features=60)
    groups = np.arange(60) // 2
    selector = select(feature_groups=groups).fit(X, y)
    chosen = selector.get_support().reshape(30, 2)
    np.testing.assert_array_equal(chosen[:, 0], chosen[:, 1])
    assert np.mean(chosen[truth.reshape(30, 2).any(axis=1), 0]) > 0.5


def test_constant_and_excluded_columns_are_not_chosen():
    X, y, truth = planted(0)
    constant, excluded = np.flatnonzero(truth)[:2]
    X[:, constant] = 3.0
    selector = select(exclude=[int(excluded)]).fit(X, y)
    assert selector.n_features_ > 0
    assert not selector.get_support()[[constant, excluded]].any()
    assert selector.discoveries_.frequencies[[constant, excluded]].max() == 0


def test_missing_entries_count_as_means():
    X, y, truth = planted(0)
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    chosen = select(missing="mean").fit(X, y).get_support()
    assert np.mean(chosen[truth]) > 0.5


def test_rows_without_weight_have_no_say():
    X, y, _ = planted(0)
    expected = select().fit(X, y)
    more = np.vstack([X, X + 1e3])
    weights = np.r_[np.ones(len(X)), np.zeros(len(X))]
    found = select().fit(more, np.r_[y, -y], sample_weight=weights)
    assert np.mean(found.get_support() == expected.get_support()) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": Knockoffs(0)}, "fdr=0 cannot be used"),
        ({"search": Knockoffs(1.0)}, r"fdr=1.0 cannot be used: give a number below 1"),
        ({"n_features_to_select": 3}, "leave out n_features_to_select, which is 3"),
        ({"path_sizes": [1, 2]}, "leave out path_sizes"),
        ({"keep": [0]}, "leave out keep"),
        ({"max_cost": 2.0}, "leave out max_cost"),
        ({"n_resamples": 2}, r"search=Knockoffs\(\) is not repeated.* n_resamples=0"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict, message: str):
    X, y, _ = planted(0)
    with pytest.raises(ValueError, match=message):
        FeatureGradientSelector(**{"search": Knockoffs()} | options).fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_many_columns_are_screened_by_rows_that_are_not_used_again(container):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 5002))
    y = X[:, 7] - X[:, 5000] + 0.3 * rng.standard_normal(120)
    selector = select(exclude=[7]).fit(container(X), y)
    assert selector.get_support(indices=True).tolist() == [5000]
    # Three for each of the 80 rows that did not screen.
    assert np.count_nonzero(selector.discoveries_.usable) == 240
    assert "screening" in str(selector.plan_)
    assert select().fit(container(X), y).get_support()[[7, 5000]].all()


def test_rows_have_to_be_in_memory():
    X, y, _ = planted(0)
    with pytest.raises(ValueError, match="takes none read block by block: use fit"):
        select().fit_source(open_source(X, target=y))
    with pytest.raises(ValueError, match="takes none from chunks: use fit"):
        select().partial_fit(X, y)
    with pytest.raises(ValueError, match="takes none on an accelerator: use fit"):
        select(device="cpu").fit(X, y)


def test_few_rows_give_one_warning():
    with pytest.warns(UserWarning, match="No features are chosen") as warned:
        select().fit(np.eye(3), [0.0, 1.0, 2.0])
    assert len(warned) == 1
