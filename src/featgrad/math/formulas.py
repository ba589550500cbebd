"""Formulas of the estimator: filters, links, and the normalisation of moments over tuples of rows.

Filters are polynomials ``p(x) = sum_i a_i x^(i+1)`` that approximate 1 on (0, 1]. Applied to the
spectrum of the masked covariance they turn the moments into the explained variance: the closer to 1
on the spectrum, the closer to least squares. Each link maps the explained fraction (of the total
variance) to a loss, which is minimised, and its derivative.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from featgrad._support import Floats
from featgrad.plan import CHEBYSHEV_RESIDUAL

# Kong & Valiant's optimised coefficients, as tabulated by the authors of Feature Gradients.
_KONG_VALIANT: dict[int, list[float]] = {
    1: [0.60355337],
    2: [1.52705001, -0.34841729],
    3: [2.90254224, -1.87216745, 0.0],
    4: [4.63445685, -5.19936195, 0.0, 1.50391676],
    5: [6.92948049, -14.12216211, 9.4475009, 0.0, -1.21093546],
    6: [9.54431082, -28.09414643, 31.84703652, -11.18763791, -1.14175281, 0.0],
    7: [12.54505041, -49.64891525, 79.78828031, -46.72250909, 0.0, 0.0, 5.02973646],
    8: [16.03550163, -84.286182, 196.86078756, -215.36747071, 92.63961263, 0.0, 0.0, -4.86280869],
    9: [
        *[19.86409184, -130.76801006, 390.95349861, -570.09210416, 354.77764899],
        *[0.0, -73.84234865, 0.0, 10.09148767],
    ],
    10: [
        *[24.1117752, -194.946061, 734.214614, -1428.51995, 1415.6741],
        *[-581.738134, 0.0, 0.0, 31.1664751, 1.05018365],
    ],
    11: [
        *[28.75280839, -279.22576729, 1280.46325445, -3104.47148101, 3990.6092248],
        *[-2300.29413333, 0.0, 427.35289033, 0.0, 0.0, -42.17587475],
    ],
    12: [
        *[33.85141912, -391.4229382, 2184.97827882, -6716.28280208, 11879.75233977],
        *[-11739.97267239, 5384.94542245, 0.0, -674.23291712, 0.0, 0.0, 39.37456439],
    ],
}

MAX_ORDER = max(_KONG_VALIANT)


def _monotone(order: int) -> Floats:
    """``1 - (1 - x)^k``: never above 1, gradient descent's own filter."""
    return _without_constant(1 - Polynomial([1, -1]) ** order, order)


def _chebyshev(order: int) -> Floats:
    """``1 - r(x)^2`` with r the Chebyshev residual polynomial on the widest fitting [a, 1].

    It is the squared loss of a polynomial predictor and cannot exceed 1. Odd orders carry one
    more factor ``1 - x``, which keeps that bound on (0, 1].
    """
    degree, odd = divmod(order, 2)
    if degree == 0:
        return np.ones(1)
    # r(x) = T_p(t(x)) / T_p(t(0)) with t mapping [a, 1] to [1, -1]; T_p(t(0))^-2 is the residual,
    # which fixes t(0) = (1 + a) / (1 - a) and with it a.
    peak = CHEBYSHEV_RESIDUAL**-0.5
    t_zero = math.cosh(math.acosh(peak) / degree)
    a = (t_zero - 1) / (t_zero + 1)
    inner = Polynomial([1 + a, -2]) / (1 - a)
    outer = np.polynomial.Chebyshev.basis(degree).convert(kind=Polynomial)
    residual: Polynomial = outer(inner) / peak
    return _without_constant(1 - residual**2 * Polynomial([1, -1]) ** odd, order)


def _without_constant(polynomial: Polynomial, order: int) -> Floats:
    coefficients = np.zeros(order)
    coefficients[: len(polynomial.coef) - 1] = polynomial.coef[1:]
    return coefficients


_FILTERS: dict[str, Callable[[int], Floats]] = {
    "chebyshev": _chebyshev,
    "kong-valiant": lambda order: np.array(_KONG_VALIANT[order]),
    "monotone": _monotone,
}


def coefficients(filter: str | ArrayLike, order: int) -> Floats:
    """Coefficients ``a_0 .. a_(order-1)`` of a filter given by name or as an array of them."""
    if not isinstance(filter, str):
        return _from_array(filter, order)
    if filter not in _FILTERS:
        raise ValueError(f"filter={filter!r} is unknown: use one of {list(_FILTERS)} or an array.")
    return _named(filter, check_order(order))


@functools.cache
def _named(filter: str, order: int) -> Floats:
    found = _FILTERS[filter](order)
    found.setflags(write=False)
    return found


def up_to(filter: str | ArrayLike, order: int) -> tuple[Floats, ...]:
    """The filters of all orders up to `order`; an array has only its own."""
    lowest = 1 if isinstance(filter, str) else order
    return tuple(coefficients(filter, lower) for lower in range(lowest, order + 1))


def value_at(coefficients: Floats, x: float) -> float:
    """``p(x)``."""
    return float(coefficients @ x ** np.arange(1, len(coefficients) + 1))


def first_peak(coefficients: Floats) -> float:
    """Position of the first maximum of the filter on (0, 1]."""
    x = np.linspace(0, 1, 1001)[1:]
    values = Polynomial([0, *coefficients])(x)
    falls = np.flatnonzero(np.diff(values) < 0)
    return float(x[falls[0]]) if len(falls) else 1.0


def check_order(order: int) -> int:
    if isinstance(order, bool) or not isinstance(order, int | np.integer):
        raise ValueError(f"order={order!r} is not a whole number: use 1 to {MAX_ORDER}.")
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"order={order} is out of range: use 1 to {MAX_ORDER}.")
    return int(order)


def _from_array(filter: ArrayLike, order: int) -> Floats:
    values = np.asarray(filter)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.all(np.isfinite(values)):
        raise ValueError(
            f"filter={filter!r} is not a list of finite coefficients: give one number per power of "
            "x, that of x first, or a filter's name."
        )
    if len(values) != check_order(order):
        raise ValueError(f"filter has {len(values)} coefficients but order={order}: give {order}.")
    return values.astype(np.float64)


Link = Callable[[float], tuple[float, float]]

# A link with a square root has no derivative at 0 and 1; estimates outside are clipped this far.
_MARGIN = 1e-6


def residual(explained: float) -> tuple[float, float]:
    """``1 - z / var(y)``: the unexplained share of the variance."""
    return 1.0 - explained, -1.0


def root(explained: float) -> tuple[float, float]:
    """``(1 - sqrt(z)) / 2``: the link of the paper's authors for labels -1 and 1."""
    inside = _clip(explained)
    return (1.0 - math.sqrt(inside)) / 2, -0.25 / math.sqrt(inside)


def probit(explained: float) -> tuple[float, float]:
    """``arccos(rho) / pi``: error rate of the best linear rule under a balanced probit model.

    For labels -1 and 1 that are the sign of a Gaussian whose correlation with the linear
    predictor is rho, ``z = 2 rho^2 / pi``.
    """
    inside = _clip(math.pi * explained / 2)
    rho = math.sqrt(inside)
    slope = -1.0 / (math.pi * math.sqrt(1 - inside)) * math.pi / (4 * rho)
    return math.acos(rho) / math.pi, slope


def _clip(value: float) -> float:
    return min(max(value, _MARGIN), 1 - _MARGIN)


LINKS: dict[str, Link] = {"residual": residual, "root": root, "probit": probit}


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
