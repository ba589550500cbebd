"""Held-out rows that choose among sizes, against NumPy on rows."""

import numpy as np
import pytest

import reference
from dataset_builders import folds_of_rows, in_memory, mixed_columns
from featgrad.plan import HELD_OUT_GROUPS, JUDGE_RIDGE, NOTHING_ERRORS, HeldOut
from featgrad.search.base import Subset
from featgrad.search.comparison import Comparison, compare, division_tasks, held_out_groups

N_FOLDS = 12


def subset(*divisions: list[int]) -> Subset:
    """One that was found so without each group."""
    sets = tuple(np.array(features) for features in divisions)
    return Subset(float(len(sets[0])), sets[0], np.zeros(10), [], divisions=sets)


def correlations_by_rows(X, Y, weight, chosen: list[list[int]]) -> np.ndarray:
    """Of ridge predictions and outputs on held-out rows, group by group; about overall means."""
    weights = weight / weight.sum()
    Z, outputs = (reference.standardise(part, weights, "zscore") for part in (X, Y))
    folds = folds_of_rows(weight, N_FOLDS)
    table = []
    for group in held_out_groups(N_FOLDS):
        test = np.isin(folds, group)
        row = []
        for features in chosen:
            A, W = Z[:, features], weights[~test, None] / weights[~test].sum()
            ridge = JUDGE_RIDGE / np.sum(~test) * np.eye(len(features))
            fitted = np.linalg.solve(
                A[~test].T @ (W * A[~test]) + ridge, A[~test].T @ (W * outputs[~test])
            )
            predicted, truth, w = A[test] @ fitted, outputs[test], weights[test]
            along = w @ (predicted * truth)
            row.append(np.mean(along / np.sqrt((w @ predicted**2) * (w @ truth**2))))
        table.append(row)
    return np.array(table)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_held_out_correlations_are_those_of_rows(n_outputs: int):
    X, Y, weight = mixed_columns(300, 10, n_outputs)
    dataset = in_memory(X, Y, weight, n_folds=N_FOLDS)
    dataset.marginals([np.ones(N_FOLDS)])
    chosen = [[0], [3, 7], [0, 2, 3]]
    found = compare(dataset, [subset(*[c] * HELD_OUT_GROUPS) for c in chosen]).held_out()
    table = correlations_by_rows(X, Y, weight, chosen)
    assert [point.budget for point in found] == [1, 2, 3]
    correlations = [point.correlation for point in found]
    np.testing.assert_allclose(correlations, table.mean(axis=0), rtol=1e-4)
    errors = np.std(table, axis=0, ddof=1) / np.sqrt(HELD_OUT_GROUPS)
    np.testing.assert_allclose([point.standard_error for point in found], errors, rtol=1e-3)


def test_every_group_is_judged_by_the_sets_found_without_it():
    X, Y, weight = mixed_columns(300, 10)
    dataset = in_memory(X, Y, weight, n_folds=N_FOLDS)
    dataset.marginals([np.ones(N_FOLDS)])
    chosen = [[[0], [0, 3]], [[3], [2, 3]], [[1], [0, 1]], [[8], [3, 8]]]
    found = compare(dataset, [subset(*sets) for sets in zip(*chosen, strict=True)])
    expected = [correlations_by_rows(X, Y, weight, group)[i] for i, group in enumerate(chosen)]
    np.testing.assert_allclose(found.correlations.T, expected, rtol=1e-3, atol=1e-4)


def test_columns_that_predict_nothing_have_no_correlation():
    X, Y, weight = mixed_columns(100, 10)
    dataset = in_memory(X, Y, weight, n_folds=N_FOLDS)
    dataset.marginals([np.ones(N_FOLDS)])
    [found] = compare(dataset, [subset(*[[6]] * HELD_OUT_GROUPS)]).held_out()
    assert found == HeldOut(1.0, 0.0, 0.0)


@pytest.mark.parametrize("n_folds", [4, 12, 14])
def test_groups_are_disjoint_and_cover_all_folds(n_folds: int):
    groups = held_out_groups(n_folds)
    assert len(groups) == HELD_OUT_GROUPS
    assert sorted(np.concatenate(groups)) == list(range(n_folds))


def test_tasks_leave_each_group_out_in_turn_for_every_budget():
    tasks = division_tasks([2.0, 5.0], N_FOLDS)
    assert [task.budget for task in tasks] == [2.0] * HELD_OUT_GROUPS + [5.0] * HELD_OUT_GROUPS
    for i, group in enumerate(held_out_groups(N_FOLDS)):
        for task in tasks[i::HELD_OUT_GROUPS]:
            assert sorted([*task.folds, *group]) == list(range(N_FOLDS))


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
