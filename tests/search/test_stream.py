"""Large sets, chosen while rows pass."""

import numpy as np
import pytest
from scipy import sparse

from featgrad import FeatureGradientSelector
from featgrad.readers import open_source

N_ROWS, N_COLUMNS, N_PLANTED = 1500, 1600, 505
# What the largest correlations with the target recall; a third would be found by chance.
BY_CORRELATION = 0.62


@pytest.fixture(scope="module")
def planted():
    """Rows of mostly zeros whose target is a sum over every third column, the last one constant."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, N_COLUMNS), density=0.1, rng=rng, format="lil")
    X[:, N_COLUMNS - 1] = 1.0
    X = sparse.csr_array(X, dtype=np.float32)
    X.data[:] = 1
    planted = np.arange(0, 3 * N_PLANTED, 3)
    y = X[:, planted] @ rng.choice([-0.9, 1.1], N_PLANTED)
    return X, y, planted


def recalled(selector, planted):
    return np.isin(planted, selector.get_support(indices=True)).mean()


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_array.toarray])
def test_planted_columns_are_found(planted, kind):
    X, y, columns = planted
    selector = FeatureGradientSelector(N_PLANTED, random_state=0).fit(kind(X), y)
    assert recalled(selector, columns) > BY_CORRELATION


def test_source_finds_what_fit_finds(planted):
    X, y, columns = planted
    source = open_source(X, target=y, block_rows=100)
    selector = FeatureGradientSelector(N_PLANTED, random_state=0).fit_source(source)
    assert recalled(selector, columns) > BY_CORRELATION


def test_scores_tell_the_chosen(planted):
    X, y, _ = planted
    selector = FeatureGradientSelector(N_PLANTED, random_state=0).fit(X, y)
    np.testing.assert_array_equal(selector.scores_ > 0, selector.get_support())
    assert selector.n_features_ == N_PLANTED


def test_constant_column_comes_last(planted):
    X, y, _ = planted
    selector = FeatureGradientSelector(N_PLANTED, random_state=0).fit(X, y)
    assert selector.ranking_[N_COLUMNS - 1] == N_COLUMNS


def test_kept_and_excluded_columns(planted):
    X, y, columns = planted
    selector = FeatureGradientSelector(
        N_PLANTED, keep=[1, 2], exclude=columns[:5], random_state=0
    ).fit(X, y)
    support = selector.get_support()
    assert support[[1, 2]].all()
    assert not support[columns[:5]].any()
    assert support.sum() == N_PLANTED


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
    with pytest.raises(ValueError, match="too many"):
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


def test_natural_size_from_a_source():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30))
    y = X[:, :5].sum(axis=1) + rng.normal(size=4000)
    selector = FeatureGradientSelector(penalty=0.5, batch_size=100, random_state=0)
    selector.fit_source(open_source(X, target=y, block_rows=250))
    np.testing.assert_array_equal(selector.get_support(indices=True), np.arange(5))
