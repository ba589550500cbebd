"""Held-out rows that choose among sizes, against NumPy on rows."""

import numpy as np
import pytest

import reference
from dataset_builders import folds_of_rows, in_memory, mixed_columns
from featgrad.dataset.in_memory import InMemory
from featgrad.dataset.splits import random_splits
from featgrad.plan import HELD_OUT_GROUPS, JUDGE_RIDGE, NOTHING_ERRORS, HeldOut
from featgrad.search.base import Subset
from featgrad.search.comparison import Comparison, compare, division_tasks

N_FOLDS = 12


def subset(*divisions: list[int]) -> Subset:
    """One that was found so without each group."""
    sets = tuple(np.array(features) for features in divisions)
    return Subset(float(len(sets[0])), sets[0], np.zeros(10), [], divisions=sets)


def correlations_by_rows(X, Y, weight, chosen: list[list[int]], is_binary=False) -> np.ndarray:
    """Of ridge predictions and outputs on held-out rows, group by group."""
    table, folds = [], folds_of_rows(weight, N_FOLDS)
    for split in random_splits(N_FOLDS):
        test = np.isin(folds, split.test)
        w = weight.copy()
        if is_binary:  # two classes count alike in each part
            for part in (test, ~test):
                for value in (0, 1):
                    own = part & (Y[:, 0] == value)
                    w[own] /= w[own].sum()
        W = w[~test, None] / w[~test].sum()
        mean, outputs = W[:, 0] @ X[~test], reference.standardise(Y[~test], W[:, 0], "zscore")
        Z = (X - mean) / np.sqrt(np.maximum(W[:, 0] @ (X[~test] - mean) ** 2, 1e-30))
        row = []
        for features in chosen:
            A = Z[~test][:, features]
            ridge = JUDGE_RIDGE * np.sum(W**2) * np.eye(len(features))
            fitted = np.linalg.solve(A.T @ (W * A) + ridge, A.T @ (W * outputs))
            predicted, truth = (
                values - np.average(values, axis=0, weights=w[test])
                for values in (Z[test][:, features] @ fitted, Y[test])
            )
            along = w[test] @ (predicted * truth)
            square = (w[test] @ predicted**2) * (w[test] @ truth**2)
            row.append(np.mean(along / np.sqrt(square)))
        table.append(row)
    return np.array(table)


def dataset_of(X, Y, weight, task: str = "regression") -> InMemory:
    """As the search for its divisions leaves it."""
    dataset = in_memory(X, Y, weight, n_folds=N_FOLDS, task=task)
    dataset.marginals([dataset.division(split.training) for split in dataset.splits])
    return dataset


@pytest.mark.parametrize(
    ("n_outputs", "task"), [(1, "regression"), (3, "regression"), (1, "binary")]
)
def test_held_out_correlations_are_those_of_rows(n_outputs: int, task: str):
    X, Y, weight = mixed_columns(300, 10, n_outputs)
    if task == "binary":
        Y = (np.quantile(Y, 0.8) < Y).astype(float)
    dataset = dataset_of(X, Y, weight, task)
    chosen = [[0], [3, 7], [0, 2, 3]]
    found = compare(dataset, [subset(*[c] * HELD_OUT_GROUPS) for c in chosen]).held_out()
    table = correlations_by_rows(X, Y, weight, chosen, task == "binary")
    assert [point.budget for point in found] == [1, 2, 3]
    correlations = [point.correlation for point in found]
    np.testing.assert_allclose(correlations, table.mean(axis=0), rtol=1e-4)
    errors = np.std(table, axis=0, ddof=1) / np.sqrt(HELD_OUT_GROUPS)
    np.testing.assert_allclose([point.standard_error for point in found], errors, rtol=1e-3)


def test_every_group_is_judged_by_the_sets_found_without_it():
    X, Y, weight = mixed_columns(300, 10)
    dataset = dataset_of(X, Y, weight)
    chosen = [[[0], [0, 3]], [[3], [2, 3]], [[1], [0, 1]], [[8], [3, 8]]]
    found = compare(dataset, [subset(*sets) for sets in zip(*chosen, strict=True)])
    expected = [correlations_by_rows(X, Y, weight, group)[i] for i, group in enumerate(chosen)]
    np.testing.assert_allclose(found.correlations.T, expected, rtol=1e-3, atol=1e-4)


def test_columns_that_predict_nothing_have_no_correlation():
    X, Y, weight = mixed_columns(100, 10)
    dataset = dataset_of(X, Y, weight)
    [found] = compare(dataset, [subset(*[[6]] * HELD_OUT_GROUPS)]).held_out()
    assert found == HeldOut(1.0, 0.0, 0.0)


def test_tasks_are_the_splits_for_every_budget():
    splits = random_splits(N_FOLDS)
    tasks = division_tasks([2.0, 5.0], splits)
    assert [task.budget for task in tasks] == [2.0] * HELD_OUT_GROUPS + [5.0] * HELD_OUT_GROUPS
    assert [task.folds for task in tasks] == 2 * [split.training for split in splits]


def comparison(means: list[float], errors: list[float], n_rows: int = 10_000) -> Comparison:
    """Of two groups that differ by twice the standard error."""
    mean, error = np.array(means), np.array(errors)
    table = np.stack([mean - error, mean + error], axis=1)
    return Comparison(range(len(means)), table, n_rows)


@pytest.mark.parametrize(
    ("correlations", "errors", "expected"),
    [
        ([0.5, 0.7, 0.8], [0.01, 0.01, 0.01], 2),
        ([0.5, 0.7, 0.8], [0.01, 0.01, 0.12], 1),
        ([0.5, 0.7, 0.8], [0.9, 0.9, 0.01], 2),
        ([0.5, 0.8, 0.7], [0.01, 0.01, 0.5], 1),
        ([0.5, 0.5, 0.5], [0.0, 0.0, 0.0], 0),
        ([0.3], [0.1], 0),
    ],
)
def test_smallest_budget_within_one_error_of_the_best(correlations, errors, expected: int):
    assert comparison(correlations, errors).smallest_good() == expected


@pytest.mark.parametrize(("share", "expected"), [(0.99, None), (1.01, 1)])
def test_nothing_is_good_that_noise_could_be(share: float, expected: int | None):
    best = share * NOTHING_ERRORS * np.sqrt(2 / 100)
    assert comparison([-1.0, best], [0.0, 0.0], n_rows=100).smallest_good() == expected


def test_a_group_can_be_kept_from_judging():
    judges = Comparison([1.0, 2.0], np.array([[0.5, 0.5, -0.9], [0.4, 0.4, 0.9]]), 300)
    assert judges.smallest_good() == 1
    assert judges.without(2).smallest_good() == 0
    assert judges.without(2).n_effective == 200


@pytest.mark.parametrize(
    ("correlations", "expected"),
    [([0.1, 0.2, 0.3], True), ([0.1, 0.3, 0.2], True), ([3, 2, 1], False)],
)
def test_whether_larger_budgets_may_be_better(correlations: list[float], expected: bool):
    assert comparison(correlations, [0.0, 0.0, 0.0]).still_rises == expected
