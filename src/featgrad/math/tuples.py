"""Normalisation of moments over tuples of distinct rows."""

import numpy as np

from featgrad._support.types import Floats


def elementary_symmetric(weights: Floats, degree: int) -> Floats:
    """``e_0 .. e_degree`` of the weights: the sums of products over distinct tuples.

    They are the coefficients of ``prod_n (1 + w_n t)``, multiplied out pairwise as a tree, so
    that no term cancels.
    """
    factors = np.zeros((len(weights), degree + 1))
    factors[:, 0] = 1.0
    factors[:, 1] = weights
    while len(factors) > 1:
        if len(factors) % 2:
            factors = np.vstack([factors, np.eye(1, degree + 1)])
        left, right = factors[0::2], factors[1::2]
        factors = np.zeros_like(left)
        for j in range(degree + 1):
            factors[:, j:] += left[:, j : j + 1] * right[:, : degree + 1 - j]
    return np.asarray(factors[0])


def tuple_weights(weights: Floats, order: int) -> Floats:
    """``e_(i+2)(w)`` for i = 0 .. order-1: the divisor of the i-th raw moment."""
    return elementary_symmetric(weights, order + 1)[2:]


def tuple_weights_without_each(weights: Floats, order: int) -> Floats:
    """The same with each row left out in turn, shape (rows, order).

    ``e_j(w without n) = e_j(w) - w_n e_(j-1)(w without n)``.
    """
    full = elementary_symmetric(weights, order + 1)
    without = np.ones_like(weights)
    columns = []
    for j in range(1, order + 2):
        without = full[j] - weights * without
        columns.append(without)
    return np.stack(columns[1:], axis=1)
