"""Arrays of other libraries: what comes of X lives where X does."""

import numpy as np
import pytest
import sklearn

from featgrad import FeatureGradientSelector, Learnability
from golden_shapes import planted

LIBRARIES = ["array_api_strict", "torch"]


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest):
    return pytest.importorskip(request.param)


@pytest.fixture
def table():
    return planted(120, 12, 3)


def two_sizes() -> FeatureGradientSelector:
    return FeatureGradientSelector(3, path_sizes=[2], random_state=0)


def test_selection_is_that_of_numpy(xp, table):
    X, y = table
    expected = two_sizes().fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        found = two_sizes().fit(xp.asarray(X), xp.asarray(y))
    np.testing.assert_array_equal(found.get_support(), expected.get_support())
    np.testing.assert_array_equal(np.asarray(found.scores_), expected.scores_)


def test_fitted_arrays_and_results_are_of_the_library(xp, table):
    X, y = xp.asarray(table[0]), table[1]
    with sklearn.config_context(array_api_dispatch=True):
        selector = two_sizes().fit(X, y)
        reduced = selector.transform(X)
        back = selector.inverse_transform(reduced)
    kind = type(X)
    for array in (selector.scores_, selector.ranking_, selector.at(2).scores_, reduced, back):
        assert type(array) is kind
    expected = np.where(selector.get_support(), table[0], 0.0)
    np.testing.assert_array_equal(np.asarray(back), expected)


def test_without_dispatch_arrays_on_the_host_are_numpys(xp, table):
    X, y = table
    selector = two_sizes().fit(xp.asarray(X), xp.asarray(y))
    assert isinstance(selector.scores_, np.ndarray)
    assert isinstance(selector.transform(xp.asarray(X)), np.ndarray)


def test_target_and_weights_come_from_elsewhere(xp, table):
    X, y = table
    weights = np.arange(len(y)) % 3
    expected = two_sizes().fit(X, y, sample_weight=weights)
    found = two_sizes().fit(X, xp.asarray(y), sample_weight=xp.asarray(weights))
    np.testing.assert_array_equal(found.scores_, expected.scores_)


def test_chunks_of_the_library(xp, table):
    X, y = table
    found = two_sizes().partial_fit(xp.asarray(X), xp.asarray(y), sample_weight=xp.ones(120))
    expected = two_sizes().fit(X, y).get_support()
    np.testing.assert_array_equal(found.finalize().get_support(), expected)


def test_inverse_transform_refuses_another_number_of_columns(xp, table):
    with sklearn.config_context(array_api_dispatch=True):
        selector = two_sizes().fit(xp.asarray(table[0]), table[1])
        with pytest.raises(ValueError, match=r"X has shape \(120, 12\) but 3 features were chosen"):
            selector.inverse_transform(xp.asarray(table[0]))


def test_learnability_answers_in_the_library(xp, table):
    X, y = table
    numbers = Learnability(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        arrays = Learnability(xp.asarray(X), xp.asarray(y), sample_weight=xp.ones(120))
        mask = xp.full((12,), 0.5)
        pairs = [
            (arrays.value_and_gradient(mask)[1], numbers.value_and_gradient(np.full(12, 0.5))[1]),
            (arrays.alone(), numbers.alone()),
            *zip(arrays.gains([0, 1]), numbers.gains([0, 1]), strict=True),
            (arrays.gains([]).values, np.zeros(0)),
        ]
    for found, expected in pairs:
        assert type(found) is type(xp.asarray(X))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9)
