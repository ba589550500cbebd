import numpy as np
from benchmarks.development import MOST_ROWS, comparison_lines, inner_splits, score_lines
from benchmarks.helpers.splitting import Split


def result(**scores):
    return {name: {"score": score, "seconds": 2.0} for name, score in scores.items()}


def test_inner_splits_use_training_rows_and_keep_groups_together():
    groups = np.repeat(np.arange(30), 4)
    X, y = groups[:, None].astype(float), groups % 3
    whole = Split(X, y, np.full((5, 1), -1.0), np.zeros(5, dtype=int), groups)
    for split in inner_splits(whole, "multiclass", 3):
        assert split.X_train.min() >= 0
        assert not np.intersect1d(split.X_train, split.X_test).size
        assert set(split.y_train) == set(split.y_test) == {0, 1, 2}


def test_inner_splits_of_many_rows_are_limited():
    X = np.arange(9000.0)[:, None]
    whole = Split(X, np.arange(9000) % 2, X, np.zeros(9000, dtype=int))
    (split,) = inner_splits(whole, "binary", 1)
    assert len(split.y_train) + len(split.y_test) == MOST_ROWS


def test_averages_are_per_metric():
    results = {"featgrad": result(colon=0.8, pcmac=0.9, skewed=0.5), "l1_path": result(colon=0.7)}
    lines = score_lines(results)
    assert "| **average AUC** | 0.8500 | - |" in lines
    assert "| **average R^2** | 0.5000 | - |" in lines


def test_differences_are_over_the_sets_both_have():
    now = {"featgrad": result(colon=0.8, pcmac=0.9, dexter=0.7)}
    before = {"featgrad": result(colon=0.7, pcmac=0.9)}
    lines = comparison_lines(now, before)
    assert "| colon | +0.1000 |" in lines
    assert "| **mean** | +0.0500 |" in lines
    assert "| median ratio of seconds | 1.00 |" in lines
    assert not any("dexter" in line for line in lines)
