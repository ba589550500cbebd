"""Subsets of standardised rows: rows, columns, batches, order of the rows, missing values."""

from dataclasses import replace

import numpy as np
import pytest

import reference
from featgrad._support.array_api import to_numpy
from featgrad.moments.sweeps import RowMoments
from matrix_kinds import KINDS, Example, Kind, example, relative_error


def expected_of(data: Example, kind: Kind, problem: RowMoments, rows, columns=slice(None)):
    """Standardised as a whole, then cut."""
    Z = reference.standardise(kind.rounded(data.X), data.weights, "zscore")
    value, gradient = reference.value_and_gradient(
        Z[rows][:, columns],
        data.outputs[rows],
        data.mask[columns],
        data.weights[rows],
        problem.coefficients,
        problem.scale,
        kind.parts(len(rows)),
    )
    return value / problem.variance, gradient / problem.variance


def errors(problem: RowMoments, mask: np.ndarray, expected) -> float:
    found = problem.value_and_gradient(mask)
    return max(relative_error(a, b) for a, b in zip(found, expected, strict=True))


def test_take_cuts_rows_in_the_given_order(kind: Kind):
    data = example(50, 14, far=1e4)
    problem, _, _ = data.problem(kind, 3)
    rows = np.array([41, 3, 17, 8, 25, 0, 49, 30])
    weights = data.weights[rows] / data.weights[rows].sum()
    part = replace(
        problem, rows=problem.rows.take(rows), outputs=data.outputs[rows], weights=weights
    )
    assert errors(part, data.mask, expected_of(data, kind, problem, rows)) <= kind.tolerance


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_values_are_standardised_rows(kind: Kind, preprocess: str):
    data = example(30, 6, far=1e3)
    columns = np.array([4, 0, 5])
    found = kind.standardised(data.X, data.weights, preprocess).columns(columns).values()
    expected = reference.standardise(kind.rounded(data.X), data.weights, preprocess)[:, columns]
    np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-3, atol=1e-3 * expected.std())


def test_take_of_take_counts_rows_of_the_part(kind: Kind):
    data = example(30, 6)
    rows = kind.standardised(data.X, data.weights)
    twice = rows.take(np.arange(5, 30)).take(np.array([0, 7, 3]))
    once = rows.take(np.array([5, 12, 8]))
    vector, weights = np.ones(6), np.ones(3)
    np.testing.assert_array_equal(
        twice.covariance_product(vector, weights), once.covariance_product(vector, weights)
    )


def test_columns_cut_columns_in_the_given_order(kind: Kind):
    data = example(40, 12, far=1e4)
    problem, _, _ = data.problem(kind, 3)
    columns = np.array([10, 2, 3, 7])
    expected = expected_of(data, kind, problem, np.arange(40), columns)
    assert errors(problem.columns(columns), data.mask[columns], expected) <= kind.tolerance


def test_batches_are_disjoint_runs_of_rows(kind: Kind):
    data = example(53, 9)
    problem, _, _ = data.problem(kind, 3)
    batches = problem.batches(10)
    assert [batch.rows.n_rows for batch in batches] == [11, 11, 11, 10, 10]
    runs = np.array_split(np.arange(53), 5)
    for batch, rows in zip(batches, runs, strict=True):
        expected = expected_of(data, kind, problem, rows)
        assert errors(batch, data.mask, expected) <= kind.tolerance


def test_one_batch_of_all_rows(kind: Kind):
    data = example(20, 4)
    problem, *expected = data.problem(kind, 2)
    (batch,) = problem.batches(20)
    assert errors(batch, data.mask, expected) <= kind.tolerance


def test_rows_are_visited_in_the_given_order(kind: Kind):
    data = example(35, 8)
    rows = np.random.default_rng(0).permutation(35)[:28]
    shuffled = Example(data.X[rows], data.outputs[rows], data.weights[:28], data.mask)
    problem, *expected = shuffled.problem(kind, 3)
    visited = replace(problem, rows=kind.standardised(data.X, data.weights[:28], rows=rows))
    assert errors(visited, data.mask, expected) <= kind.tolerance


@pytest.mark.parametrize("shape", [(11,), (11, 3)])
@pytest.mark.parametrize("n_rows", [60, 25])
def test_covariance_product(kind: Kind, shape: tuple[int, ...], n_rows: int):
    data = example(60, 11, far=1e4)
    rows = kind.standardised(data.X, data.weights).take(np.arange(n_rows))
    vectors = np.random.default_rng(0).standard_normal(shape)
    weights = data.weights[:n_rows]
    centred = reference.standardise(kind.rounded(data.X), data.weights, "center")[:n_rows]
    expected = centred.T @ (weights[:, None] * (centred @ vectors.reshape(11, -1)))
    found = rows.covariance_product(vectors, weights)
    assert relative_error(found, expected.reshape(shape)) <= kind.tolerance


@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_missing_entries_count_as_their_columns_mean(kind: Kind, far: float, preprocess: str):
    data = example(60, 10, far=far)
    gaps = np.random.default_rng(0).random(data.X.shape) < 0.2
    gaps[0, :4] = True
    X = np.where(gaps, np.nan, kind.rounded(data.X))
    present = data.weights[:, None] * ~gaps
    mean = np.nansum(present * X, axis=0) / present.sum(axis=0)
    filled = replace(data, X=np.where(gaps, mean, X))
    in_double = KINDS["dense-float64"]
    problem, *expected = filled.problem(in_double, 3, preprocess=preprocess)
    with_gaps = replace(problem, rows=kind.standardised(X, data.weights, preprocess))
    assert errors(with_gaps, data.mask, expected) <= kind.tolerance


def test_column_without_any_value_counts_as_constant(kind: Kind):
    data = example(30, 5)
    X = data.X.copy()
    X[:, 2] = np.nan
    rows = kind.standardised(X, data.weights)
    np.testing.assert_array_equal(rows.inverse_variance == 0, np.arange(5) == 2)


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_constant_columns_are_switched_off(kind: Kind, preprocess: str):
    data = example(57, 7)
    constants = np.array([0.1, 1e4 / 3, 0.0, -7.0, 1e-30])
    X = np.hstack([data.X, np.tile(constants, (57, 1))])
    mask = np.ones(12)
    problem, _, _ = replace(data, X=X, mask=mask).problem(kind, 4, preprocess=preprocess)
    varying, *expected = replace(data, mask=mask[:7]).problem(kind, 4, preprocess=preprocess)
    value, gradient = replace(problem, scale=varying.scale).value_and_gradient(mask)
    np.testing.assert_array_equal(problem.rows.inverse_variance[7:], 0)
    np.testing.assert_array_equal(gradient[7:], 0)
    assert relative_error(value, expected[0]) <= kind.tolerance
    assert relative_error(gradient[:7], expected[1]) <= kind.tolerance


def test_dense_and_sparse_agree():
    data = example(80, 30, n_outputs=2)
    dense, _, _ = data.problem(KINDS["dense-float64"], 5)
    compressed, _, _ = data.problem(KINDS["csr-float64-int32"], 5)
    assert errors(compressed, data.mask, dense.value_and_gradient(data.mask)) <= 1e-9


def test_entries_stored_twice_or_as_zero_count_once():
    from scipy import sparse

    data = example(30, 6)
    plain = sparse.coo_array(data.X)
    halves = np.concatenate([plain.data / 2, plain.data / 2, [0.0]])
    rows = np.concatenate([plain.row, plain.row, [1]])
    columns = np.concatenate([plain.col, plain.col, [1]])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=30))])
    order = np.argsort(rows, kind="stable")
    doubled = sparse.csr_array((halves[order], columns[order], indptr), shape=data.X.shape)
    problem, *expected = data.problem(KINDS["csr-float64-int32"], 3)
    again = replace(problem, rows=Kind(lambda X: doubled).standardised(data.X, data.weights))
    assert errors(again, data.mask, expected) <= 1e-9
