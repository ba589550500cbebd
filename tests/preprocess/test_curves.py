import numpy as np
import pytest
from scipy import sparse

from featgrad import FeatureGradientSelector
from featgrad.preprocess import curves
from featgrad.preprocess.curves import with_curves

ROWS = np.arange(80)
WEIGHTS = np.full(80, 1 / 80)


def both_ends(n_rows: int = 80, n_columns: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Uniform columns, and a class whose rows lie at both ends of column 3."""
    X = np.random.default_rng(0).uniform(-1, 1, (n_rows, n_columns))
    return X, np.abs(X[:, 3]) > 0.5


def centred(y: np.ndarray) -> np.ndarray:
    return (y - y.mean())[:, None]


def test_columns_come_first_and_what_squares_tell_beyond_them_follows():
    X, y = both_ends()
    both = with_curves(X, ROWS, WEIGHTS, centred(y))
    assert both is not None
    z, curve = both[:, :200], both[:, 200:]
    np.testing.assert_allclose(z, (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-5, atol=1e-6)
    for column, square in zip(z.T[:5], curve.T[:5], strict=True):
        design = np.column_stack([np.ones(80), column])
        left = column**2 - design @ np.linalg.lstsq(design, column**2)[0]
        np.testing.assert_allclose(square, left / left.std(), atol=1e-4)


def test_weights_count_as_copies_of_rows():
    X, y = both_ends()
    copies = 1 + ROWS % 3
    written_out = np.repeat(ROWS, copies)
    weights = copies / copies.sum()
    weighted = with_curves(X, ROWS, weights, (y - weights @ y)[:, None])
    again = np.full(len(written_out), 1 / len(written_out))
    outputs = (y - weights @ y)[written_out, None]
    repeated = with_curves(X, written_out, again, outputs)
    assert weighted is not None
    assert repeated is not None
    np.testing.assert_allclose(weighted[written_out], repeated, atol=1e-4)


def test_scale_and_origin_of_columns_do_not_matter():
    X, y = both_ends()
    np.testing.assert_allclose(
        with_curves(X, ROWS, WEIGHTS, centred(y)),
        with_curves(-7 + 3 * X, ROWS, WEIGHTS, centred(y)),
        atol=1e-4,
    )


def test_sparse_storage_does_not_matter():
    X, y = both_ends()
    np.testing.assert_array_equal(
        with_curves(X, ROWS, WEIGHTS, centred(y)),
        with_curves(sparse.csr_array(X), ROWS, WEIGHTS, centred(y)),
    )


def test_missing_entries_count_as_their_mean():
    X, y = both_ends()
    X[4, 5] = np.nan
    filled = X.copy()
    filled[4, 5] = np.nanmean(X[:, 5])
    np.testing.assert_allclose(
        with_curves(X, ROWS, WEIGHTS, centred(y)),
        with_curves(filled, ROWS, WEIGHTS, centred(y)),
        atol=1e-5,
    )


def test_constants_and_columns_of_two_values_have_no_curve():
    X, y = both_ends()
    X[:, 0], X[:, 1] = 5.0, X[:, 1] > 0
    both = with_curves(X, ROWS, WEIGHTS, centred(y))
    assert both is not None
    assert not both[:, [0, 200, 201]].any()
    assert both[:, 1].any()


def test_blocks_of_columns_do_not_matter(monkeypatch: pytest.MonkeyPatch):
    X, y = both_ends()
    whole = with_curves(X, ROWS, WEIGHTS, centred(y))
    monkeypatch.setattr(curves, "_BLOCK_ENTRIES", 1000)
    np.testing.assert_allclose(with_curves(X, ROWS, WEIGHTS, centred(y)), whole, atol=1e-5)


def test_there_are_none_where_rows_are_many():
    X, y = both_ends(n_columns=80)
    assert with_curves(X, ROWS, WEIGHTS, centred(y)) is None


def test_there_are_none_where_most_entries_are_zero():
    X, y = both_ends()
    X[np.random.default_rng(1).random(X.shape) < 0.8] = 0
    assert with_curves(X, ROWS, WEIGHTS, centred(y)) is None


def test_there_are_none_of_normal_columns():
    X = np.random.default_rng(0).standard_normal((80, 2000))
    assert with_curves(X, ROWS, WEIGHTS, centred(np.abs(X[:, 3]) > 0.7)) is None


def test_there_are_none_where_nothing_varies():
    assert with_curves(np.ones((80, 200)), ROWS, WEIGHTS, centred(ROWS % 2)) is None


def test_there_are_none_where_they_tell_no_more_than_chance():
    X, _ = both_ends()
    outputs = np.random.default_rng(2).standard_normal(80)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    outputs -= z[:, :70] ** 2 @ np.linalg.pinv(z[:, :70] ** 2) @ outputs
    assert with_curves(X[:, :90], ROWS, WEIGHTS, centred(outputs)) is None


def test_there_are_none_of_too_many_entries(monkeypatch: pytest.MonkeyPatch):
    X, y = both_ends()
    monkeypatch.setattr(curves, "_MOST_ENTRIES", X.size - 1)
    assert with_curves(X, ROWS, WEIGHTS, centred(y)) is None


def test_a_feature_is_found_whose_both_ends_mark_the_class():
    X, y = both_ends()
    selector = FeatureGradientSelector(1, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [3]
    assert len(selector.scores_) == 200
    assert selector.history_["size"][-1] == pytest.approx(1)


def test_resamples_speak_of_features():
    X, y = both_ends()
    selector = FeatureGradientSelector(2, n_resamples=4, random_state=0).fit(X, y)
    assert selector.stability_ is not None
    assert len(selector.stability_.frequencies) == 200


def test_groups_are_chosen_whole_with_curves_too():
    X, y = both_ends()
    selector = FeatureGradientSelector(2, feature_groups=[[3, 150]], keep=[150], random_state=0)
    assert selector.fit(X, y).get_support(indices=True).tolist() == [3, 150]


def test_columns_that_are_only_centred_have_no_curves():
    X, y = both_ends()
    selector = FeatureGradientSelector(1, preprocess="center", random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() != [3]
