"""Compiled loops over bytes of text: numbers as programs and as people write them.

Exact decimals, then amounts of money and words for missing values. A number is rounded as `float`
does.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
from fractions import Fraction

import numpy as np
from numba import types

from featgrad._support import compiled as compiling

compiled = compiling.compiled(nogil=True, error_model="numpy")

# Offsets are unsigned: signed ones would be tested for negative values at each access.
AT_0, AT_1, AT_2, AT_3 = (np.uintp(k) for k in range(4))
SPACE, TAB, NEWLINE, RETURN, HASH, COLON, POINT = (ord(c) for c in " \t\n\r#:.")
MINUS, _PLUS, _COMMA, _OPEN, _CLOSE, _E = (ord(c) for c in "-+,()e")
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
_MAX_POWER = np.int64(100_000)
_ERROR, _CUT_ERROR = 2.0**-100, 2.0**-58
# An exponent takes its letter, its sign, eight digits, and the end.
_EXPONENT_BYTES = np.uintp(12)
_strtod = types.ExternalFunction("strtod", types.float64(types.uintp, types.uintp))


def _words(*texts: str) -> tuple[np.ndarray, ...]:
    return tuple(np.frombuffer(text.encode(), np.uint8) for text in texts)


_NAN, _INF, _INFINITY = _words("nan", "inf", "infinity")
_CURRENCIES = _words("$", "€", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF")
# Signs that are left out before numbers: of comparisons, and the one that makes text of them.
_MARKS = _words("<=", ">=", "<", ">", "~", "\u2264", "\u2265", "\u2248", "'")
_MINUS_SIGNS = _words("\u2212")
# Space, no-break space, narrow no-break space, thin space, apostrophes.
_GROUPING = _words(" ", "\u00a0", "\u202f", "\u2009", "'", "\u2019")


@compiled
def _product_error(a, b, product):
    """``a b - product`` exactly, by Dekker's splitting of both into halves."""
    a_high, b_high = a * _SPLIT, b * _SPLIT
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def scaled(mantissa, exponent, cut):
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
def _as_float(buffer, i, end, exponent, point):
    """The digits from i on, less their point, times a power of ten: as the C library rounds."""
    text = np.zeros(end - i + _EXPONENT_BYTES, np.uint8)
    size, pointed = 0, False
    while i < end and (48 <= buffer[i] <= 57 or (buffer[i] == point and not pointed)):
        if buffer[i] == point:
            pointed = True
        else:
            text[size] = buffer[i]
            size += 1
            exponent -= pointed
        i += AT_1
    text[size], text[size + 1] = _E, MINUS if exponent < 0 else _PLUS
    exponent, size = abs(exponent), size + 1
    for place in range(7, 0, -1):
        text[size + place] = 48 + exponent % 10
        exponent //= 10
    value = _strtod(np.uintp(text.ctypes.data), AT_0)
    # The text is in use until here.
    return value if text[-1] == 0 else np.nan


@compiled
def _after(data, i, end, word, any_case):
    """The end of a word that starts at i, or i; words of any case are in lower case here."""
    stop = i + np.uintp(len(word))
    if stop > end:
        return i
    for k in range(len(word)):
        byte = data[i + np.uintp(k)]
        if (byte | 32 if any_case else byte) != word[k]:
            return i
    return stop


@compiled
def _not_finite(data, i, end):
    """NaN or infinity as a word, and where it ends; at i for neither."""
    after = _after(data, i, end, _NAN, True)
    if after > i:
        return np.nan, after
    return np.inf, max(_after(data, i, end, _INF, True), _after(data, i, end, _INFINITY, True))


@compiled
def integer(buffer, i, end, mantissa):
    """Append the digits from i on while they fit; the mantissa, how many did, and their end."""
    fitting = 0
    while i < end and 48 <= buffer[i] <= 57:
        if mantissa < _FULL:
            mantissa = 10 * mantissa + np.int64(buffer[i]) - 48
            fitting += 1
        i += AT_1
    return mantissa, fitting, i


@compiled
def _sign(buffer, i, end):
    """Whether a minus is at i, and the end of the sign."""
    if i < end and (buffer[i] == MINUS or buffer[i] == _PLUS):
        return buffer[i] == MINUS, i + AT_1
    return False, i


@compiled
def number(buffer, i, end, point):
    """Number that starts at i: its value, its end, and whether it is valid."""
    negative, i = _sign(buffer, i, end)
    first = i
    mantissa, fitting, i = integer(buffer, i, end, np.int64(0))
    count = np.int64(i - first)
    exponent, pointed = count - fitting, i < end and buffer[i] == point
    if pointed:
        start = i + AT_1
        mantissa, more, i = integer(buffer, start, end, mantissa)
        count += np.int64(i - start)
        fitting, exponent = fitting + more, exponent - more
    if count == 0:
        value, after = _not_finite(buffer, i, end)
        return -value if negative else value, after, after > i and not pointed
    power, valid = np.int64(0), True
    if i < end and buffer[i] | 32 == _E:
        below, start = _sign(buffer, i + AT_1, end)
        power, _, i = integer(buffer, start, end, np.int64(0))
        power, valid = min(power, _MAX_POWER), i > start
        power = -power if below else power
    value, sure = scaled(mantissa, exponent + power, fitting < count)
    if not sure:
        value = _as_float(buffer, first, i, power, point)
    return -value if negative else value, i, valid


@compiled
def _width(data, i, end, signs, last):
    """Bytes of the sign at the start of a token or, with `last`, at its end; 0 for none."""
    for sign in signs:
        width = np.uintp(len(sign))
        at = end - width if last else i
        if i + width <= end and _after(data, at, end, sign, False) > at:
            return width
    return AT_0


@compiled
def _amount(data, i, end, decimal):
    """A number with a decimal comma, thousands, a currency, a comparison or in brackets."""
    negative = signed = False
    if end - i > AT_2 and data[i] == _OPEN and data[end - AT_1] == _CLOSE:
        negative, signed, i, end = True, True, i + AT_1, end - AT_1
    while i < end:
        width = max(_width(data, i, end, _CURRENCIES, False), np.uintp(data[i] == SPACE))
        width = max(width, _width(data, i, end, _MARKS, False))
        if width == 0 and not signed:
            width = _width(data, i, end, _MINUS_SIGNS, False)
            negative = width > 0 or data[i] == MINUS
            width = AT_1 if data[i] == MINUS or data[i] == _PLUS else width
            signed = width > 0
        if width == 0:
            break
        i += width
    while i < end:
        width = _width(data, i, end, _CURRENCIES, True)
        width = max(width, _width(data, i, end, _GROUPING[:4], True))
        if width == 0:
            break
        end -= width
    plain, size = np.empty(end - i, np.uint8), 0
    grouped, pointed, run, separator = False, False, 0, AT_0
    while i < end:
        byte, width = data[i], AT_1
        if 48 <= byte <= 57:
            plain[size] = byte
            size, run = size + 1, run + 1
        elif byte == decimal and not pointed:
            if grouped and run != 3:
                return 0.0, False
            plain[size] = POINT
            size, pointed, run = size + 1, True, 0
        elif not grouped and size > 0 and byte | 32 == _E:
            while i < end:
                plain[size] = data[i]
                size, i = size + 1, i + AT_1
        else:
            width = AT_1 if byte in (POINT, _COMMA) else _width(data, i, end, _GROUPING, False)
            # Thousands do not begin with 0, and are all separated by the same sign.
            fits = run == 3 and byte == separator if grouped else 1 <= run <= 3 and plain[0] != 48
            if width == 0 or pointed or not fits:
                return 0.0, False
            grouped, separator, run = True, byte, 0
        i += width
    if size == 0 or (grouped and not pointed and run != 3):
        return 0.0, False
    value, stop, valid = number(plain, AT_0, np.uintp(size), POINT)
    return -value if negative else value, valid and stop == np.uintp(size)


@compiled
def trim(data, starts, ends, words, edges):
    """Starts and ends of tokens without blanks around them; words for none are left empty.

    The words end at `edges`, the longest first: most tokens are longer than all of them.
    """
    starts, ends = starts.copy(), ends.copy()
    for row in range(len(starts)):
        i, end = np.uintp(starts[row]), np.uintp(ends[row])
        while i < end and (data[i] == SPACE or data[i] == TAB):
            i += AT_1
        while i < end and (data[end - AT_1] == SPACE or data[end - AT_1] == TAB):
            end -= AT_1
        for w in range(len(edges) - 1):
            first, after = edges[w], edges[w + 1]
            if np.uintp(after - first) < end - i:
                break
            if _after(data, i, end, words[first:after], False) == end:
                end = i
        starts[row], ends[row] = i, end
    return starts, ends


@compiled
def parse_tokens(data, starts, ends, decimal, values, valid):
    """Tokens as numbers, NaN for those that are empty or no numbers."""
    for row in range(len(values)):
        i, end = np.uintp(starts[row]), np.uintp(ends[row])
        values[row], valid[row] = np.nan, True
        if i < end:
            value, stop, is_number = number(data, i, end, decimal)
            if not (is_number and stop == end):
                value, is_number = _amount(data, i, end, decimal)
            values[row], valid[row] = value if is_number else np.nan, is_number


@compiled
def fingerprints(data, starts, ends):
    """A hash of 64 bits of each token: FNV-1a, its halves mixed."""
    found = np.empty(len(starts), np.uint64)
    for row in range(len(found)):
        code = np.uint64(0xCBF29CE484222325)
        for i in range(starts[row], ends[row]):
            code = (code ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
        found[row] = code ^ (code >> np.uint64(32))
    return found
