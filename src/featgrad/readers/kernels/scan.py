"""Parser of numbers in bytes of text.

Every chunk of text ends with a newline, which terminates each loop over it.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
from fractions import Fraction

import numpy as np

from featgrad import compiling

compiled = compiling.compiled(nogil=True, error_model="numpy")

# Offsets are unsigned: signed ones would be tested for negative values at each access.
AT_0, AT_1, AT_2, AT_3 = (np.uintp(k) for k in range(4))
SPACE, TAB, NEWLINE, RETURN, HASH, COLON, BAR, QUOTE = (ord(c) for c in " \t\n\r#:|'")
_NAN, _INF, _INFINITY = (np.frombuffer(w, np.uint8) for w in (b"nan", b"inf", b"infinity"))
# Powers of ten as sums of two doubles: together exact to 106 bits.
_ONE = 280  # index of 10^0
_EXACT_POWERS = [Fraction(10) ** e for e in range(-_ONE, 309)]
_POWERS = np.array([float(power) for power in _EXACT_POWERS])
_RESTS = np.array([float(power - Fraction(float(power))) for power in _EXACT_POWERS])
# One more digit still fits 62 bits, so that a double of it fits 63.
_FULL = 2**62 // 10 - 1
_SPLIT = 2.0**27 + 1


@compiled
def _product_error(a, b, product):
    """``a b - product`` exactly, by Dekker's splitting of both into halves."""
    a_high, b_high = a * _SPLIT, b * _SPLIT
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def _scaled_long(mantissa, exponent):
    """``mantissa 10^exponent``, rounded once; near the ends of the range twice or thrice."""
    value = float(mantissa)
    if mantissa == 0 or exponent < -350:
        return 0.0
    if exponent > 308:
        return np.inf
    if exponent < -260:
        return value * _POWERS[_ONE - 200] * _POWERS[_ONE + exponent + 200]
    power = _POWERS[_ONE + exponent]
    product = value * power
    if exponent > 280:
        return product
    rest = float(mantissa - np.int64(value)) * power + value * _RESTS[_ONE + exponent]
    return product + (_product_error(value, power, product) + rest)


@compiled
def _scaled(mantissa, exponent):
    """``mantissa 10^exponent``; short numbers, the usual ones, need one exact division."""
    if mantissa < 2**53 and -22 <= exponent <= 0:
        return float(mantissa) / _POWERS[_ONE - exponent]
    return _scaled_long(mantissa, exponent)


@compiled
def _after(buffer, i, end, word):
    """The end of a lower-case word that starts at i in any case, or i."""
    stop = i + np.uintp(len(word))
    if stop > end:
        return i
    for k in range(len(word)):
        if buffer[i + np.uintp(k)] | 32 != word[k]:
            return i
    return stop


@compiled
def _word(buffer, i, end):
    """NaN or infinity as a word, after the sign; consumes nothing else."""
    after = _after(buffer, i, end, _NAN)
    if after > i:
        return np.nan, after
    after = max(_after(buffer, i, end, _INF), _after(buffer, i, end, _INFINITY))
    return (np.inf, after) if after > i else (0.0, i)


@compiled
def number(buffer, i, end):
    """Number that starts at i: its value, its end, and whether it is valid."""
    negative = False
    if i < end and (buffer[i] == 45 or buffer[i] == 43):
        negative = buffer[i] == 45
        i += AT_1
    mantissa, exponent, start = 0, 0, i
    while i < end and 48 <= buffer[i] <= 57:
        if mantissa < _FULL:
            mantissa = 10 * mantissa + np.int64(buffer[i]) - 48
        else:
            exponent += 1
        i += AT_1
    digits, pointed = i - start, i < end and buffer[i] == 46
    if pointed:
        i += AT_1
        start = i
        while i < end and 48 <= buffer[i] <= 57:
            if mantissa < _FULL:
                mantissa = 10 * mantissa + np.int64(buffer[i]) - 48
                exponent -= 1
            i += AT_1
        digits += i - start
    valid = digits > 0
    if not valid:
        value, after = _word(buffer, i, end)
        valid = after > i and not pointed
        i = after
    else:
        if i < end and buffer[i] | 32 == 101:
            i += AT_1
            below = False
            if i < end and (buffer[i] == 45 or buffer[i] == 43):
                below = buffer[i] == 45
                i += AT_1
            power, start = 0, i
            while i < end and 48 <= buffer[i] <= 57:
                if power < 100_000:
                    power = 10 * power + np.int64(buffer[i]) - 48
                i += AT_1
            valid = i > start
            exponent += -power if below else power
        value = _scaled(mantissa, exponent)
    return -value if negative else value, i, valid


@compiled
def is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@compiled
def is_end(byte):
    return byte in (NEWLINE, HASH)


@compiled
def numbers(data, starts, ends, values, valid):
    """Parse tokens as numbers; an empty token is NaN. Clears `valid` for invalid tokens."""
    for row in range(len(values)):
        i, end = np.uintp(starts[row]), np.uintp(ends[row])
        while i < end and (data[i] == SPACE or data[i] == TAB):
            i += AT_1
        while i < end and (data[end - AT_1] == SPACE or data[end - AT_1] == TAB):
            end -= AT_1
        if i == end:
            values[row] = np.nan
            continue
        value, i, found = number(data, i, end)
        values[row] = value
        valid[row] &= found and i == end
