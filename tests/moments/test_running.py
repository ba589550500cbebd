"""Running sums against their definition, row by row."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from featgrad.math.formulas import coefficients
from featgrad.moments.running import RunningSums

N_ROWS, N_COLUMNS, BATCH = 60, 7, 15


def make_rows(rng, n_outputs):
    X = rng.poisson(0.7, (N_ROWS, N_COLUMNS)).astype(float)
    Y = X[:, :n_outputs] + rng.normal(size=(N_ROWS, n_outputs))
    weights = rng.uniform(0.5, 1.5, N_ROWS)
    weights /= weights.sum()
    return X, Y - weights @ Y, weights


def defined(X, Y, weights, masks, filter, top, share):
    """Value and gradient after each batch, from the definition in the module's first lines."""
    order = len(filter)
    Z = X - weights @ X
    Z /= np.sqrt(weights @ Z**2)
    b = Z.T @ (weights[:, None] * Y)
    total = np.zeros((order, *b.shape))
    count = np.zeros(order)
    found = []
    for batch, mask in enumerate(masks):
        r = [b] + [total[j] / count[j] if count[j] else None for j in range(1, order)]
        for n in range(batch * BATCH, (batch + 1) * BATCH):
            others = (b - weights[n] * np.outer(Z[n], Y[n])) / (1 - weights[n])
            for j in range(order - 1):
                if r[j] is not None:
                    seen = others if j == 0 else r[j]
                    total[j + 1] += weights[n] * np.outer(Z[n], (mask * Z[n]) @ seen)
                    count[j + 1] += weights[n]
        r = [b] + [total[j] / count[j] if count[j] else 0 * b for j in range(1, order)]
        alpha = filter / top ** np.arange(1, order + 1) / Y.shape[1]
        value = sum(alpha[i] * np.sum(mask @ (r[0] * r[i])) for i in range(order))
        gradient = sum(
            alpha[i] * np.sum(r[j] * r[i - j], axis=1) for i in range(order) for j in range(i + 1)
        )
        found.append((value, gradient))
        total *= share
        count *= share
    return found


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_running_sums_are_what_they_say(kind, order, n_outputs):
    rng = np.random.default_rng(0)
    X, Y, weights = make_rows(rng, n_outputs)
    masks = rng.uniform(size=(N_ROWS // BATCH, N_COLUMNS)).astype(np.float32)
    filter = coefficients("monotone", order)
    mean = weights @ X
    scale = np.sqrt(weights @ (X - mean) ** 2)
    cross = ((X - mean) / scale).T @ (weights[:, None] * Y)
    sums = RunningSums(cross, mean, scale, filter, 2.0)
    expected = defined(X, Y, weights, masks, filter, 2.0, 0.5)
    for batch, mask in enumerate(masks):
        sums.set_mask(mask, 0.5)
        # In two pieces: what is sent changes with the mask only.
        for first in (batch * BATCH, batch * BATCH + 5):
            rows = slice(first, batch * BATCH + (5 if first == batch * BATCH else BATCH))
            sums.add(kind(X[rows].astype(np.float32)), Y[rows], weights[rows])
        value, gradient = sums.value_and_gradient()
        np.testing.assert_allclose(value, expected[batch][0], rtol=1e-4)
        np.testing.assert_allclose(gradient, expected[batch][1], rtol=1e-3, atol=1e-5)


def test_growth_is_taken_back():
    rng = np.random.default_rng(2)
    X, Y, weights = make_rows(rng, 1)
    cross = (X - weights @ X).T @ (weights[:, None] * Y)
    sums = RunningSums(cross, weights @ X, np.ones(N_COLUMNS), coefficients("monotone", 4), 3.0)
    mask = np.full(N_COLUMNS, 0.5, np.float32)
    # As many halvings as would overflow.
    for _ in range(300):
        sums.set_mask(mask, 0.5)
        sums.add(X[:30], Y[:30], weights[:30])
    assert np.isfinite(sums.value_and_gradient()[1]).all()


def test_restored_sums_go_on_alike():
    rng = np.random.default_rng(1)
    X, Y, weights = make_rows(rng, 1)
    cross = (X - weights @ X).T @ (weights[:, None] * Y)
    told = cross, weights @ X, np.ones(N_COLUMNS), coefficients("monotone", 4), 3.0
    sums = RunningSums(*told)
    sums.set_mask(np.full(N_COLUMNS, 0.5, np.float32))
    sums.add(X[:30], Y[:30], weights[:30])
    other = pickle.loads(pickle.dumps(sums))
    for one in (sums, other):
        one.add(X[30:], Y[30:], weights[30:])
    np.testing.assert_array_equal(sums.value_and_gradient()[1], other.value_and_gradient()[1])
