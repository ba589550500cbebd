"""Parser of numbers in bytes of text.

Every chunk of text ends with a newline, which terminates each loop over it.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
from fractions import Fraction

import numpy as np
from numba import types

from featgrad._support import compiled as compiling

compiled = compiling.compiled(nogil=True, error_model="numpy")

# Offsets are unsigned: signed ones would be tested for negative values at each access.
AT_0, AT_1, AT_2, AT_3 = (np.uintp(k) for k in range(4))
SPACE, TAB, NEWLINE, RETURN, HASH, COLON = (ord(c) for c in " \t\n\r#:")
_NAN, _INF, _INFINITY = (np.frombuffer(w, np.uint8) for w in (b"nan", b"inf", b"infinity"))
# Powers of ten as sums of two doubles, together exact to 106 bits; no part of a product with
# 62 bits is beyond the range of doubles.
_SAFE = 250
_ONE = _SAFE  # index of 10^0
_EXACT_POWERS = [Fraction(10) ** e for e in range(-_SAFE, _SAFE + 1)]
_POWERS = np.array([float(power) for power in _EXACT_POWERS])
_RESTS = np.array([float(power - Fraction(float(power))) for power in _EXACT_POWERS])
# One more digit still fits 62 bits, so that a double of it fits 63.
_FULL = 2**62 // 10 - 1
_SPLIT = 2.0**27 + 1
_ERROR, _CUT_ERROR = 2.0**-100, 2.0**-58
# Room for an exponent: its letter, its sign, eight digits, and the end.
AT_LAST = np.uintp(12)
_strtod = types.ExternalFunction("strtod", types.float64(types.uintp, types.uintp))


@compiled
def _product_error(a, b, product):
    """``a b - product`` exactly, by Dekker's splitting of both into halves."""
    a_high, b_high = a * _SPLIT, b * _SPLIT
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def _scaled(mantissa, exponent, cut):
    """``mantissa 10^exponent``, and whether it is surely rounded as `float` would.

    Short numbers, the usual ones, need one exact division. Others are a product to 100 bits, or to
    58 where digits were cut off the mantissa: rounding its lower and upper end must agree.
    """
    if mantissa < 2**53 and -22 <= exponent <= 0:
        return float(mantissa) / _POWERS[_ONE - exponent], True
    if not -_SAFE <= exponent <= _SAFE:
        return 0.0, mantissa == 0
    value, power = float(mantissa), _POWERS[_ONE + exponent]
    product = value * power
    rest = float(mantissa - np.int64(value)) * power + value * _RESTS[_ONE + exponent]
    rest += _product_error(value, power, product)
    error = product * (_CUT_ERROR if cut else _ERROR)
    lower = product + (rest - error)
    return lower, lower == product + (rest + error)


@compiled
def _as_float(buffer, i, end, exponent):
    """The digits from i on, less their point, times a power of ten: as the C library rounds."""
    text = np.zeros(end - i + AT_LAST, np.uint8)
    size, pointed = 0, False
    while i < end and (48 <= buffer[i] <= 57 or (buffer[i] == 46 and not pointed)):
        if buffer[i] == 46:
            pointed = True
        else:
            text[size] = buffer[i]
            size += 1
            exponent -= pointed
        i += AT_1
    text[size], text[size + 1] = 101, 45 if exponent < 0 else 43
    exponent, size = abs(exponent), size + 1
    for place in range(7, 0, -1):
        text[size + place] = 48 + exponent % 10
        exponent //= 10
    value = _strtod(np.uintp(text.ctypes.data), AT_0)
    # The text is in use until here.
    return value if text[-1] == 0 else np.nan


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
    mantissa, exponent, cut, first, start = 0, 0, False, i, i
    while i < end and 48 <= buffer[i] <= 57:
        if mantissa < _FULL:
            mantissa = 10 * mantissa + np.int64(buffer[i]) - 48
        else:
            exponent += 1
            cut = True
        i += AT_1
    digits, pointed = i - start, i < end and buffer[i] == 46
    if pointed:
        i += AT_1
        start = i
        while i < end and 48 <= buffer[i] <= 57:
            if mantissa < _FULL:
                mantissa = 10 * mantissa + np.int64(buffer[i]) - 48
                exponent -= 1
            else:
                cut = True
            i += AT_1
        digits += i - start
    valid = digits > 0
    if not valid:
        value, after = _word(buffer, i, end)
        valid = after > i and not pointed
        i = after
    else:
        power = 0
        if i < end and buffer[i] | 32 == 101:
            i += AT_1
            below = False
            if i < end and (buffer[i] == 45 or buffer[i] == 43):
                below = buffer[i] == 45
                i += AT_1
            start = i
            while i < end and 48 <= buffer[i] <= 57:
                if power < 100_000:
                    power = 10 * power + np.int64(buffer[i]) - 48
                i += AT_1
            valid = i > start
            power = -power if below else power
        value, sure = _scaled(mantissa, exponent + power, cut)
        if not sure:
            value = _as_float(buffer, first, i, power)
    return -value if negative else value, i, valid


@compiled
def is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@compiled
def is_end(byte):
    return byte in (NEWLINE, HASH)


@compiled
def trimmed(data, start, end):
    """Start and end of a token without blanks around it."""
    i, end = np.uintp(start), np.uintp(end)
    while i < end and (data[i] == SPACE or data[i] == TAB):
        i += AT_1
    while i < end and (data[end - AT_1] == SPACE or data[end - AT_1] == TAB):
        end -= AT_1
    return i, end
