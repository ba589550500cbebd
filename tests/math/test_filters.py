import numpy as np
import pytest

from featgrad.math.formulas import coefficients

X = np.linspace(0.001, 1, 1000)


def evaluate(filter: str, order: int, x: np.ndarray = X) -> np.ndarray:
    a = coefficients(filter, order)
    return np.sum(a[:, None] * x ** np.arange(1, order + 1)[:, None], axis=0)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (1, [0.60355337]),
        (2, [1.52705001, -0.34841729]),
        (3, [2.90254224, -1.87216745, 0]),
        (4, [4.63445685, -5.19936195, 0, 1.50391676]),
        (5, [6.92948049, -14.12216211, 9.4475009, 0, -1.21093546]),
        (6, [9.54431082, -28.09414643, 31.84703652, -11.18763791, -1.14175281, 0]),
        (
            8,
            [
                *[16.03550163, -84.286182, 196.86078756, -215.36747071],
                *[92.63961263, 0, 0, -4.86280869],
            ],
        ),
        (
            12,
            [
                *[33.85141912, -391.4229382, 2184.97827882, -6716.28280208, 11879.75233977],
                *[-11739.97267239, 5384.94542245, 0, -674.23291712, 0, 0, 39.37456439],
            ],
        ),
    ],
)
def test_tabulated_coefficients(order: int, expected: list[float]):
    np.testing.assert_array_equal(coefficients("kong-valiant", order), expected)


@pytest.mark.parametrize("order", range(2, 13))
def test_tabulated_filters_stay_near_one_on_the_upper_half(order: int):
    np.testing.assert_allclose(evaluate("kong-valiant", order)[X > 0.5], 1, atol=0.35)


@pytest.mark.parametrize("filter", ["kong-valiant", "monotone", "chebyshev"])
@pytest.mark.parametrize("order", range(1, 13))
def test_one_coefficient_per_power_and_no_constant(filter: str, order: int):
    assert coefficients(filter, order).shape == (order,)
    assert evaluate(filter, order, np.zeros(1)) == [0]


@pytest.mark.parametrize("order", range(1, 13))
def test_monotone_filter(order: int):
    np.testing.assert_allclose(evaluate("monotone", order), 1 - (1 - X) ** order, atol=1e-12)


@pytest.mark.parametrize("filter", ["monotone", "chebyshev"])
@pytest.mark.parametrize("order", range(1, 13))
def test_bounded_filters_never_exceed_one(filter: str, order: int):
    values = evaluate(filter, order)
    assert values.max() <= 1 + 1e-9
    assert values.min() > 0


@pytest.mark.parametrize(
    ("order", "start"), [(2, 0.74), (4, 0.30), (6, 0.16), (8, 0.1), (12, 0.05)]
)
def test_chebyshev_filter_is_within_three_per_cent_beyond_its_start(order: int, start: float):
    assert evaluate("chebyshev", order)[start <= X].min() >= 0.97 - 1e-9


@pytest.mark.parametrize("order", [3, 5, 7, 9, 11])
def test_odd_chebyshev_filters_are_closer_than_the_even_ones_below(order: int):
    residual, below = (1 - evaluate("chebyshev", k) for k in (order, order - 1))
    assert np.all(residual <= below + 1e-9)


def test_array_is_taken_as_it_is():
    found = coefficients([1, -2, 3], 3)
    np.testing.assert_array_equal(found, [1.0, -2.0, 3.0])
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    ("filter", "order", "message"),
    [
        ("legendre", 4, r"filter='legendre' is unknown: use one of \['chebyshev', 'kong-valiant'"),
        ("monotone", 0, "order=0 is out of range: use 1 to 12"),
        ("monotone", 13, "order=13 is out of range"),
        ("monotone", 2.0, r"order=2.0 is not a whole number"),
        ("monotone", True, "order=True is not a whole number"),
        ([1.0, 2.0], 3, "filter has 2 coefficients but order=3"),
        ([[1.0]], 1, "is not a list of finite coefficients"),
        ([1.0, np.nan], 2, "is not a list of finite coefficients"),
        (["a"], 1, "is not a list of finite coefficients"),
        (None, 1, "filter=None is not a list of finite coefficients"),
    ],
)
def test_wrong_filters_are_refused(filter, order, message: str):
    with pytest.raises(ValueError, match=message):
        coefficients(filter, order)
