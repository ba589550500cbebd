"""Held-out rows that choose among sizes, against NumPy on rows."""

import numpy as np
import pytest

import reference
from dataset_builders import folds_of_rows, in_memory, mixed_columns
from featgrad.dataset.memory import InMemory
from featgrad.dataset.splits import Split, random_splits
from featgrad.plan import HELD_OUT_RIDGE, NOISE_ERRORS, SIZE_TOLERANCE, TOLERANCE_FACTORS, HeldOut
from featgrad.search.base import Subset
from featgrad.search.working_set import Comparison, compare, division_tasks

N_FOLDS = 12
SPLITS = random_splits(N_FOLDS)


def subset(*divisions: list[int]) -> Subset:
    """One that was found so in each split."""
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
            ridge = HELD_OUT_RIDGE * np.sum(W**2) * np.eye(len(features))
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
    chosen = [[0], [3, 7], [0, 2, 3]]
    found = compare(dataset_of(X, Y, weight, task), [subset(*[c] * len(SPLITS)) for c in chosen])
    assert found.budgets == [1, 2, 3]
    expected = correlations_by_rows(X, Y, weight, chosen, task == "binary")
    np.testing.assert_allclose(found.correlations.T, expected, rtol=1e-3, atol=1e-4)


def test_every_split_is_predicted_by_the_sets_found_in_it():
    X, Y, weight = mixed_columns(300, 10)
    chosen = [[[0], [0, 3]], [[3], [2, 3]], [[1], [0, 1]], [[8], [3, 8]]]
    sets = [subset(*found) for found in zip(*chosen, strict=True)]
    found = compare(dataset_of(X, Y, weight), sets)
    expected = [correlations_by_rows(X, Y, weight, split)[i] for i, split in enumerate(chosen)]
    np.testing.assert_allclose(found.correlations.T, expected, rtol=1e-3, atol=1e-4)


def test_columns_that_predict_nothing_have_no_correlation():
    dataset = dataset_of(*mixed_columns(100, 10))
    [found] = compare(dataset, [subset(*[[6]] * len(SPLITS))]).held_out()
    assert found.correlation == 0


def test_tasks_leave_the_held_out_folds_out_for_every_budget():
    tasks = division_tasks([2.0, 5.0], SPLITS)
    assert [task.budget for task in tasks] == [2.0] * len(SPLITS) + [5.0] * len(SPLITS)
    assert [task.folds for task in tasks] == 2 * [split.training for split in SPLITS]


def comparison(correlations, n_rows: float = 10_000) -> Comparison:
    """Of two splits that differ."""
    mean = np.array(correlations)
    splits = [Split((0,), (1,)), Split((1,), (0,))]
    return Comparison(
        range(1, len(mean) + 1), np.stack([mean - 0.1, mean + 0.1], axis=1), n_rows, splits
    )


@pytest.mark.parametrize(
    ("correlations", "smallest", "best"),
    [
        ([0.5, 0.7, 0.8], 2, 2),
        ([0.5, 0.8, 0.7], 1, 1),
        ([0.5, 0.7, 0.799, 0.8], 2, 3),
        ([0.5, 0.5, 0.5], 0, 0),
        ([0.3], 0, 0),
        # What a single size has by chance does not count, a step does.
        ([0.5, 0.5, 0.8, 0.5, 0.5, 0.5], 0, 0),
        ([0.3, 0.5, 0.8, 0.8, 0.8, 0.8, 0.79], 2, 2),
    ],
)
def test_the_smallest_budget_that_is_about_as_good_as_the_best(correlations, smallest, best):
    found = comparison(correlations)
    assert found.smallest_good() == smallest
    assert found.best == best


@pytest.mark.parametrize(
    ("n_rows", "tolerance"), [(100, SIZE_TOLERANCE * 0.8), (10**6, (1 - 0.8**2) / 1000)]
)
def test_a_budget_suffices_within_one_error_and_a_share_of_the_best(n_rows, tolerance):
    least, most = tolerance * TOLERANCE_FACTORS[[0, -1]]
    assert comparison([0.8 - 0.99 * least, 0.8], n_rows).smallest_good() == 0
    assert comparison([0.8 - 1.01 * most, 0.8], n_rows).smallest_good() == 1


def test_a_flat_curve_is_cut_in_the_middle():
    losses = 0.8 * SIZE_TOLERANCE * np.geomspace(4, 0.25, 20)
    smallest = [np.argmax(losses <= 0.8 * SIZE_TOLERANCE * f) for f in TOLERANCE_FACTORS]
    found = comparison([*(0.8 - losses), 0.8, 0.8, 0.8], 100).smallest_good()
    assert smallest[0] > found > smallest[-1]


def test_errors_are_those_of_a_correlation():
    assert comparison([0.6], 100).held_out() == (HeldOut(1, 0.6, pytest.approx(0.064)),)


@pytest.mark.parametrize(("share", "expected"), [(0.99, None), (1.01, 1)])
def test_nothing_is_good_that_noise_could_be(share: float, expected: int | None):
    best = share * NOISE_ERRORS * np.sqrt(2 / 100)
    assert comparison([-1.0, best], n_rows=100).smallest_good() == expected


def test_splits_of_the_same_rows_can_be_kept_from_choosing():
    splits = [Split((1, 2), (0,)), Split((0, 2), (1,)), Split((0, 1), (2,)), Split((0,), (1, 2))]
    table = np.array([[0.5, 0.5, -0.9, -0.9], [0.4, 0.4, 0.9, 0.9]])
    every = Comparison([1.0, 2.0], table, 400, splits)
    assert every.smallest_good() == 1
    others = every.without(splits[2])
    assert others.smallest_good() == 0
    assert others.n_effective == 200


def test_all_splits_choose_where_they_hold_out_the_same_rows():
    splits = [Split((0,), (1, 2)), Split((0,), (2,))]
    every = Comparison([1.0], np.array([[0.5, 0.6]]), 100, splits)
    assert every.without(splits[0]) is every


@pytest.mark.parametrize(
    ("correlations", "expected"),
    [([0.1, 0.2, 0.3], True), ([0.1, 0.3, 0.2], True), ([3, 2, 1], False)],
)
def test_whether_larger_budgets_may_be_better(correlations: list[float], expected: bool):
    assert comparison(correlations).still_rises == expected
