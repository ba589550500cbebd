import numpy as np
from benchmarks.helpers.splitting import filled, finished, random_rows

SIZES = {"n_splits": 4, "train_size": 2 / 3, "test_size": 1 / 3, "random_state": 0}


def test_groups_stay_on_one_side_and_every_class_is_on_both():
    groups = np.repeat(np.arange(24), 5)
    y = groups % 4
    for train, test in random_rows(y, "multiclass", groups, **SIZES):
        assert not np.intersect1d(groups[train], groups[test]).size
        assert set(y[train]) == set(y[test]) == {0, 1, 2, 3}
        assert len(train) + len(test) == len(y)


def test_regression_is_split_without_classes():
    y = np.random.default_rng(0).standard_normal(30)
    for train, test in random_rows(y, "regression", **SIZES):
        assert (len(train), len(test)) == (20, 10)


def test_missing_values_are_filled_by_means_of_training_rows():
    train = np.array([[1.0, np.nan], [3.0, 4.0]])
    test = np.array([[np.nan, np.nan], [9.0, 9.0]])
    X_train, X_test = filled(train, test)
    assert X_train.tolist() == [[1, 4], [3, 4]]
    assert X_test.tolist() == [[2, 4], [9, 9]]


def test_labels_are_encoded_and_numbers_are_kept():
    X = np.zeros((2, 1))
    labels = finished("binary", X, np.array([3, 5]), X, np.array([5, 3]))
    assert (labels.y_train.tolist(), labels.y_test.tolist()) == ([0, 1], [1, 0])
    numbers = finished("regression", X, np.array([3, 5]), X, np.array([7, 2]))
    assert (numbers.y_test.tolist(), numbers.y_test.dtype) == ([7, 2], np.float64)
