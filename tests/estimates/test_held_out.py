"""Estimates on held-out rows, against their definition and by simulation."""

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dataset_builders import in_memory
from featgrad import FeatureGradientSelector
from featgrad.dataset.splits import random_splits
from featgrad.estimates.held_out import HeldOutRows
from featgrad.plan import HELD_OUT_RIDGE

N_FOLDS = 12
COLUMNS = np.arange(6)
# Columns 2 and 4 are a group.
UNITS = np.array([0, 1, 2, 3, 2, 4])


SPLITS = random_splits(N_FOLDS)


def judged(X, Y, chosen, divisions, task: str = "regression"):
    dataset = in_memory(X, Y, np.ones(len(X)), n_folds=N_FOLDS)
    sample = dataset.sample(COLUMNS)
    if task != "regression":
        sample = sample._replace(task=task)
    return by_rows(sample, chosen, divisions), sample


def by_rows(sample, chosen, divisions, splits=SPLITS):
    rows = HeldOutRows(sample, COLUMNS, UNITS, splits)
    return rows.estimate(np.array(chosen), [np.array(found, dtype=np.intp) for found in divisions])


def predictions(sample, divisions, splits=SPLITS) -> np.ndarray:
    """Of ridge models of the rows that are not held out."""
    X, Y = sample.columns.values(), sample.outputs
    predicted = np.zeros_like(Y)
    for (training, held_out), features in zip(splits, divisions, strict=True):
        inside, test = np.isin(sample.folds, list(training)), np.isin(sample.folds, list(held_out))
        model = make_pipeline(StandardScaler(), Ridge(alpha=HELD_OUT_RIDGE))
        model.fit(X[inside][:, features], Y[inside])
        predicted[test] = model.predict(X[test][:, features]).reshape(-1, Y.shape[1])
    return predicted


def drawn(n_rows: int = 240, classes: bool = False, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 6))
    y = X[:, 0] + X[:, 1] + rng.standard_normal(n_rows)
    return X, ((y > 0).astype(float) if classes else y)[:, None]


DIVISIONS = ([0, 1], [0, 2], [0, 1], [1, 5])


def test_score_of_numbers_is_the_r2_of_held_out_rows():
    X, Y = drawn()
    (_, _, _, score, *_), sample = judged(X, Y, [0, 1], DIVISIONS)
    assert score.name == "R2"
    assert score.value == pytest.approx(
        r2_score(sample.outputs, predictions(sample, DIVISIONS)), rel=1e-6
    )


def test_score_of_classes_is_the_mean_area_under_the_curve():
    X, Y = drawn(classes=True)
    (_, _, _, score, *_), sample = judged(X, Y, [0, 1], DIVISIONS, "binary")
    predicted, areas = predictions(sample, DIVISIONS), []
    for _, held_out in SPLITS:
        test = np.isin(sample.folds, list(held_out))
        areas.append(roc_auc_score(sample.outputs[test] > 0, predicted[test]))
    assert score.name == "AUC"
    assert score.value == pytest.approx(np.mean(areas), rel=1e-6)
    assert 0 < score.standard_error < 0.08


def test_rows_that_are_never_held_out_only_train():
    """Later folds are held out from models of the earlier ones."""
    X, Y = drawn()
    sample = in_memory(X, Y, np.ones(len(X)), n_folds=N_FOLDS).sample(COLUMNS)
    splits = [(range(start), range(start, start + 3)) for start in (3, 6, 9)]
    score = by_rows(sample, [0, 1], [[0, 1]] * 3, splits).score
    predicted = predictions(sample, [[0, 1]] * 3, splits)
    tested = sample.folds >= 3
    expected = r2_score(sample.outputs[tested], predicted[tested])
    assert score.value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_copies_of_rows_in_one_cluster_say_no_more_than_the_rows(task: str):
    X, Y = drawn(classes=task == "binary")
    once = in_memory(X, Y, np.ones(len(X)), n_folds=N_FOLDS).sample(COLUMNS)
    once = once._replace(task=task)
    rows = np.repeat(np.arange(len(X)), 2)
    twice = once._replace(
        columns=once.columns.take(rows),
        outputs=once.outputs[rows],
        weights=once.weights[rows] / 2,
        folds=once.folds[rows],
        clusters=rows,
    )
    found, expected = (by_rows(each, [0, 1], DIVISIONS) for each in (twice, once))
    assert found.score[1:] == pytest.approx(expected.score[1:], rel=0.01)
    for name in ("value", "standard_error", "margin"):
        values = [getattr(each.learnability, name) for each in (found, expected)]
        assert values[0] == pytest.approx(values[1], rel=0.02)
    np.testing.assert_allclose(found.gains, expected.gains, rtol=0.02)


@pytest.mark.parametrize("width", [1, 2])
def test_few_clusters_in_each_part_leave_a_wider_interval(width: int):
    X, Y = drawn()
    rows = in_memory(X, Y, np.ones(len(X)), n_folds=N_FOLDS).sample(COLUMNS)
    few = rows._replace(clusters=rows.folds // width)
    found, wide = (by_rows(each, [0], [[0]] * 4).learnability for each in (rows, few))
    assert wide.value == pytest.approx(found.value, abs=0.1)
    assert found.standard_error < wide.standard_error < 0.4


def test_no_features_explain_nothing():
    X, Y = drawn()
    (_, _, found, score, gains, _), _ = judged(X, Y, np.zeros(0, np.intp), [[]] * 4)
    assert (found.value, found.standard_error) == pytest.approx((0, 0), abs=1e-8)
    assert score.value == pytest.approx(0, abs=0.01)
    assert gains is None


def test_what_a_better_set_of_all_rows_adds_is_a_margin():
    X, Y = drawn()
    (_, _, same, *_), _ = judged(X, Y, [0, 2], [[0, 2]] * 4)
    (_, _, better, *_), _ = judged(X, Y, [0, 1], [[0, 2]] * 4)
    assert same.margin == pytest.approx(0)
    assert better.value == pytest.approx(same.value)
    assert better.interval[1] > same.interval[1] + 0.2


def test_what_a_worse_set_of_all_rows_explains_less_is_subtracted():
    X, Y = drawn()
    (_, _, same, *_), _ = judged(X, Y, [0, 1], [[0, 1]] * 4)
    (_, _, worse, *_), _ = judged(X, Y, [0, 2], [[0, 1]] * 4)
    assert worse.value < same.value - 0.2
    assert worse.margin == 0


def losses(sample, features: list[int], without: list[int]) -> np.ndarray:
    """What each row loses without some of the features."""
    left = [i for i in features if i not in without]
    errors = [
        np.sum((sample.outputs - predictions(sample, [each] * 4)) ** 2, axis=1)
        for each in (left, features)
    ]
    return errors[0] - errors[1]


def share_found(sample, features: list[int], found: list[int], training) -> float:
    """Mean adjusted R^2, at least 0, of features by those found, over training rows."""
    X = sample.columns.values()[np.isin(sample.folds, list(training))]
    model = LinearRegression().fit(X[:, found], X[:, features])
    scores = r2_score(X[:, features], model.predict(X[:, found]), multioutput="raw_values")
    return np.mean(np.clip(1 - (1 - scores) * (len(X) - 1) / (len(X) - 1 - len(found)), 0, 1))


def test_gains_are_losses_of_rows_as_far_as_features_were_found_without_them():
    X, Y = drawn()
    X[:, 2] = X[:, 4] + Y[:, 0]
    divisions = [[0, 1], [0, 2, 4], [0, 1, 2, 4], [1, 5]]
    (_, _, _, _, gains, _), sample = judged(X, Y, [0, 2, 4], divisions)
    place, variance = np.digitize(sample.folds, [3, 6, 9]), np.mean(sample.outputs**2)
    expected = []
    for unit in ([0], [2, 4]):
        counts = [
            share_found(sample, unit, found, split.training)
            for found, split in zip(divisions, SPLITS, strict=True)
        ]
        lost = losses(sample, [0, 2, 4], unit) / variance
        counted = lost * np.array(counts)[place]
        of_groups = sem([counted[place == group].mean() for group in range(4)])
        of_rows, however = (each.std() / np.sqrt(len(lost)) for each in (counted, lost))
        expected.append((counted.mean(), np.hypot(max(of_rows, of_groups), however)))
    np.testing.assert_allclose(np.transpose(gains), np.array(expected)[[0, 1, 1]], rtol=1e-6)


def test_gain_counts_where_a_near_copy_was_found():
    X, Y = drawn()
    X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
    (_, _, _, _, itself, _), _ = judged(X, Y, [0, 1], [[0, 1]] * 4)
    (_, _, _, _, copy, _), _ = judged(X, Y, [0, 1], [[1, 2]] * 4)
    assert copy.values[0] == pytest.approx(itself.values[0], rel=0.05)


def test_fewer_than_two_rows_for_each_feature_give_a_lower_bound():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(60)
    found = FeatureGradientSelector(35, random_state=0).fit(X, y).learnability_
    assert found.is_lower_bound
    assert found.interval[1] == 1


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("shape", [(60, 200, 5), (120, 30, 10)])
def test_noise_seldom_looks_like_something(shape: tuple[int, int, int], classes: bool):
    """The interval lies above 0 in 2.5 % of runs: 4 of 40 are beyond three standard errors."""
    n_rows, n_columns, k = shape
    above, values = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((n_rows, n_columns)), rng.standard_normal(n_rows)
        y = y > 0 if classes else y
        found = FeatureGradientSelector(k, random_state=0).fit(X, y).learnability_
        above += found.interval[0] > 0
        values.append(found.value)
    assert above <= 4
    assert np.mean(values) == pytest.approx(0, abs=3.5 * np.std(values) / np.sqrt(40))


@pytest.mark.parametrize("r2", [0.3, 0.7])
def test_interval_covers_what_chosen_features_explain(r2: float):
    """Of 40 intervals for 95 %, 33 or fewer would be beyond three standard errors."""
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 100))
        slopes = np.where(np.arange(100) < 5, np.sqrt(r2 / 5), 0.0)
        y = X @ slopes + np.sqrt(1 - r2) * rng.standard_normal(200)
        selector = FeatureGradientSelector(5, random_state=0).fit(X, y)
        low, high = selector.learnability_.interval
        covered += low <= np.sum(slopes[selector.get_support()] ** 2) <= high
    assert covered > 33
