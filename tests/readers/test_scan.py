"""Numbers in text are rounded as `float` does, always."""

import random
import struct
from decimal import Decimal, localcontext
from fractions import Fraction
from math import nextafter

import numpy as np
import pytest

from featgrad.readers.tokens import Tokens

rng = random.Random(0)


def any_double() -> float:
    while True:
        value = struct.unpack("d", rng.randbytes(8))[0]
        if np.isfinite(value):
            return value


def halfway() -> str:
    """Sixty digits of a number between two doubles."""
    value = rng.uniform(0.1, 1) * 10.0 ** rng.randint(-200, 200)
    middle = (Fraction(value) + Fraction(nextafter(value, 1e300))) / 2
    with localcontext(prec=60):
        return str(Decimal(middle.numerator) / Decimal(middle.denominator))


KINDS = {
    "shortest text of any double": lambda: repr(any_double()),
    "all digits of any double": lambda: f"{any_double():.40g}",
    "decimals": lambda: f"{rng.uniform(-1e5, 1e5):.{rng.randint(0, 25)}f}",
    "halfway between doubles": halfway,
    "beyond the range": lambda: f"{rng.randint(0, 10**19)}e{rng.randint(-400, 400)}",
    "long digits": lambda: f"{rng.randint(0, 10**40)}.{rng.randint(0, 10**40)}",
    "just above halfway": lambda: f"{2 * rng.randint(2**52, 2**53) + 1}.{'0' * 30}1",
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_rounded_as_float_does(kind: str):
    texts = [KINDS[kind]() for _ in range(2000)]
    values, valid = Tokens.from_bytes([text.encode() for text in texts]).numbers()
    assert valid.all()
    np.testing.assert_array_equal(values, [float(text) for text in texts])
