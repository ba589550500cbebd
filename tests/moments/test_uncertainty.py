from dataclasses import replace

import numpy as np
import pytest

import reference
from featgrad.math import formulas
from featgrad.math.formulas import tuple_weights
from featgrad.moments import sweeps
from matrix_kinds import KINDS, Kind, example, relative_error


def raw_moments(data, Z: np.ndarray, rows: np.ndarray, order: int, scale: float) -> np.ndarray:
    """Not divided by the weights of the tuples, one output at a time."""
    weights = data.weights[rows]
    divided = [
        reference.moments(
            Z[rows] / np.sqrt(scale), data.outputs[rows, c : c + 1], data.mask, weights, order
        )
        for c in range(data.outputs.shape[1])
    ]
    return np.transpose(divided) * tuple_weights(weights, order)[:, None]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_paths_through_a_row_are_what_its_absence_takes(kind: Kind, n_outputs: int):
    data = example(35, 40, n_outputs=n_outputs)
    problem, _, _ = data.problem(kind, 4)
    Z = reference.standardise(kind.rounded(data.X), data.weights, "zscore")
    everyone = np.arange(35)
    whole = raw_moments(data, Z, everyone, 4, problem.scale)
    expected = [
        whole - raw_moments(data, Z, np.delete(everyone, n), 4, problem.scale) for n in everyone
    ]
    through = problem.paths_through_rows(data.mask, data.outputs)
    assert relative_error(through, expected) <= kind.tolerance


@pytest.mark.parametrize("n_rows", [5, 30])
def test_jackknife_equals_leaving_each_row_out(kind: Kind, n_rows: int):
    data = example(n_rows, 8, n_outputs=2)
    problem, _, _ = data.problem(kind, 3)
    Z = reference.standardise(kind.rounded(data.X), data.weights, "zscore")
    left_out = []
    for n in range(n_rows):
        rest = np.delete(np.arange(n_rows), n)
        weights = data.weights[rest] / data.weights[rest].sum()
        variance = np.sum(weights @ data.outputs[rest] ** 2)
        value, _ = reference.value_and_gradient(
            Z[rest], data.outputs[rest], data.mask, weights, problem.coefficients, problem.scale
        )
        left_out.append(value / variance)
    w, left_out = data.weights, np.array(left_out)
    influence = (w @ left_out - left_out) * (1 - w)
    expected = np.sum(influence**2) * n_rows / (n_rows - 1)
    problem = replace(problem, filters=problem.filters[-1:])
    _, found = sweeps._replicates(problem, data.mask, data.outputs)
    assert relative_error(found[0, 0], expected) <= 20 * kind.tolerance


def test_measured_value_is_that_of_the_chosen_filter(kind: Kind):
    # So few rows that blocks, where there are any, have one each: what is measured is over rows.
    data = example(30, 10, n_outputs=2)
    problem, value, _ = data.problem(kind, 3)
    problem = replace(problem, filters=problem.filters[-1:])
    measured = sweeps.measure(problem, data.mask)
    assert relative_error(measured.value, value) <= kind.tolerance
    assert measured.standard_error > 0


def test_all_replicates_are_made_where_only_a_few_fit_at_once(monkeypatch):
    data = example(40, 6)
    problem, _, _ = data.problem(KINDS["dense-float64"], 3)
    problem = replace(problem, filters=problem.filters[-1:])
    none_of_them = np.zeros(1)
    at_once = sweeps._null(problem, data.mask, none_of_them)
    monkeypatch.setattr(sweeps, "_MAX_FLOATS", 32 * 40 * 3 // 4)
    in_parts = sweeps._null(problem, data.mask, none_of_them)
    assert at_once[0].shape == in_parts[0].shape == (32, 1)
    assert np.all(in_parts[1] > 0)


def test_order_is_lowered_where_the_rows_cannot_bear_it():
    chosen = []
    for n_rows in (20, 500):
        data = example(n_rows, 8, weighted=False)
        problem, _, _ = data.problem(KINDS["dense-float64"], 8, filter="chebyshev")
        problem = replace(problem, filters=formulas.up_to("chebyshev", 8))
        chosen.append(sweeps.measure(problem, np.ones(8)).order)
    assert chosen[0] < chosen[1]


def test_the_first_replicates_suffice_where_noise_is_negligible():
    """Many more rows than features: the jackknife is accurate without them."""
    data = example(2000, 3)
    problem, _, _ = data.problem(KINDS["dense-float64"], 2)
    _, jackknife = sweeps._replicates(problem, data.mask, problem.outputs)
    first, _ = sweeps._null(problem, data.mask, jackknife[0])
    everything, _ = sweeps._null(problem, data.mask, np.zeros_like(jackknife[0]))
    assert len(first) == 8
    np.testing.assert_array_equal(first, everything[:8])
    assert np.all(np.mean(everything**2, axis=0) < 0.2 * jackknife[0])
