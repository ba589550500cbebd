"""Numbers as people write them: missing words, booleans, dates, amounts of money, per cent."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.kernels.scan import AT_0, AT_1, AT_2, SPACE, compiled, number, trimmed

# What the tokens of a column stand for; each is tried on all tokens of the first rows.
KINDS = ("number", "percent", "boolean", "date", "time")
NUMBER, PERCENT, BOOLEAN, DATE, TIME = range(len(KINDS))
_MINUS, _PLUS, _POINT, _COMMA, _COLON, _OPEN, _CLOSE, _APOSTROPHE = (ord(c) for c in "-+.,:()'")
_T, _Z, _E = (ord(c) for c in "tze")
_PER_CENT = ord("%")


def _words(*texts: str) -> tuple[np.ndarray, ...]:
    return tuple(np.frombuffer(text.encode(), np.uint8) for text in texts)


_TRUE, _FALSE = _words("true", "yes", "t", "y"), _words("false", "no", "f", "n")
_CURRENCIES = _words("$", "€", "£", "¥", "₹")
# Space, no-break space, narrow no-break space, thin space, apostrophes.
_GROUPING = _words(" ", "\u00a0", "\u202f", "\u2009", "'", "\u2019")
_DAYS_BEFORE = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365])


@compiled
def _is_word(data, i, end, word, any_case):
    if end - i != np.uintp(len(word)):
        return False
    for k in range(len(word)):
        byte = data[i + np.uintp(k)]
        if (byte | 32 if any_case else byte) != word[k]:
            return False
    return True


@compiled
def is_missing(data, i, end, words, edges):
    """Whether a token is one of the words that stand for a missing value."""
    for w in range(len(edges) - 1):
        first, after = edges[w], edges[w + 1]
        if end - i == np.uintp(after - first) and _is_word(data, i, end, words[first:after], False):
            return True
    return False


@compiled
def _width(data, i, end, signs, last):
    """Bytes of the sign at the start of a token or, with `last`, at its end; 0 for none."""
    for sign in signs:
        width = np.uintp(len(sign))
        at = end - width if last else i
        if i + width <= end and _is_word(data, at, at + width, sign, False):
            return width
    return AT_0


@compiled
def _amount(data, i, end, decimal):
    """A number with a decimal comma, groups of thousands, a currency or in brackets."""
    negative = signed = False
    if end - i > AT_2 and data[i] == _OPEN and data[end - AT_1] == _CLOSE:
        negative, signed, i, end = True, True, i + AT_1, end - AT_1
    while i < end:
        width = max(_width(data, i, end, _CURRENCIES, False), np.uintp(data[i] == SPACE))
        if width == 0 and (data[i] == _MINUS or data[i] == _PLUS) and not signed:
            negative, signed, width = data[i] == _MINUS, True, AT_1
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
            plain[size] = _POINT
            size, pointed, run = size + 1, True, 0
        elif not grouped and size > 0 and byte | 32 == _E:
            while i < end:
                plain[size] = data[i]
                size, i = size + 1, i + AT_1
        else:
            width = AT_1 if byte in (_POINT, _COMMA) else _width(data, i, end, _GROUPING, False)
            # Thousands do not begin with 0, and are all separated by the same sign.
            fits = run == 3 and byte == separator if grouped else 1 <= run <= 3 and plain[0] != 48
            if width == 0 or pointed or not fits:
                return 0.0, False
            grouped, separator, run = True, byte, 0
        i += width
    if size == 0 or (grouped and not pointed and run != 3):
        return 0.0, False
    value, stop, valid = number(plain, AT_0, np.uintp(size))
    return -value if negative else value, valid and stop == np.uintp(size)


@compiled
def _digits(data, i, end, count):
    """A number of exactly so many digits; -1 for anything else."""
    if i + np.uintp(count) > end:
        return -1
    value = 0
    for k in range(count):
        digit = np.int64(data[i + np.uintp(k)]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = 10 * value + digit
    return value


@compiled
def _clock(data, i, end):
    """``hh:mm[:ss[.fff]]`` as a fraction of a day, its end, and whether it is valid."""
    hours, minutes, seconds = _digits(data, i, end, 2), _digits(data, i + np.uintp(3), end, 2), 0.0
    if hours < 0 or hours > 24 or minutes < 0 or minutes > 59 or data[i + AT_2] != _COLON:
        return 0.0, i, False
    i += np.uintp(5)
    if i < end and data[i] == _COLON:
        whole = _digits(data, i + AT_1, end, 2)
        if whole < 0 or whole > 60:
            return 0.0, i, False
        i += np.uintp(3)
        seconds, scale = float(whole), 1.0
        if i < end and data[i] == _POINT:
            i += AT_1
            while i < end and 48 <= data[i] <= 57:
                scale /= 10
                seconds += scale * (data[i] - 48)
                i += AT_1
    return (hours * 60 + minutes + seconds / 60) / 1440, i, True


@compiled
def _date(data, i, end):
    """``yyyy-mm-dd``, perhaps with a time and its zone, in days since 1970."""
    year, month = _digits(data, i, end, 4), _digits(data, i + np.uintp(5), end, 2)
    day = _digits(data, i + np.uintp(8), end, 2)
    if year < 0 or not 1 <= month <= 12 or day < 1:
        return 0.0, False
    if data[i + np.uintp(4)] != _MINUS or data[i + np.uintp(7)] != _MINUS:
        return 0.0, False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _DAYS_BEFORE[month] - _DAYS_BEFORE[month - 1] + (leap and month == 2):
        return 0.0, False
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400 - 719162
    days += _DAYS_BEFORE[month - 1] + (leap and month > 2) + day - 1
    i += np.uintp(10)
    if i == end:
        return float(days), True
    if data[i] != SPACE and data[i] | 32 != _T:
        return 0.0, False
    clock, i, valid = _clock(data, i + AT_1, end)
    if valid and i < end and data[i] | 32 == _Z:
        i += AT_1
    elif valid and i < end and (data[i] == _PLUS or data[i] == _MINUS):
        ahead = -1 if data[i] == _PLUS else 1
        hours = _digits(data, i + AT_1, end, 2)
        i += np.uintp(3) + np.uintp(i + np.uintp(3) < end and data[i + np.uintp(3)] == _COLON)
        minutes = _digits(data, i, end, 2)
        if hours < 0 or minutes < 0:
            return 0.0, False
        clock += ahead * (hours * 60 + minutes) / 1440
        i += AT_2
    return days + clock, valid and i == end


@compiled
def value_of(data, i, end, kind, decimal):
    """The number that a token of some kind stands for, and whether it is of that kind."""
    if kind == BOOLEAN:
        for word in _TRUE:
            if _is_word(data, i, end, word, True):
                return 1.0, True
        for word in _FALSE:
            if _is_word(data, i, end, word, True):
                return 0.0, True
        return 0.0, False
    if kind == DATE:
        return _date(data, i, end)
    if kind == TIME:
        value, stop, valid = _clock(data, i, end)
        return value, valid and stop == end
    if kind == PERCENT:
        if data[end - AT_1] != _PER_CENT:
            return 0.0, False
        value, valid = _amount(data, i, end - AT_1, decimal)
        return value / 100, valid
    if decimal == _POINT:
        value, stop, valid = number(data, i, end)
        if valid and stop == end:
            return value, True
    return _amount(data, i, end, decimal)


@compiled
def columns(data, starts, ends, kinds, decimal, words, edges, values, valid):
    """Parse the tokens of columns of some kinds; a missing one is NaN. Clears `valid`."""
    for column in range(len(kinds)):
        for row in range(starts.shape[1]):
            i, end = trimmed(data, starts[column, row], ends[column, row])
            values[column, row] = np.nan
            if i < end and not is_missing(data, i, end, words, edges):
                value, found = value_of(data, i, end, kinds[column], decimal)
                values[column, row] = value if found else np.nan
                valid[column, row] = found


@compiled
def census(data, starts, ends, decimal, words, edges, counts):
    """Count the tokens of each column that are of each kind, and last those that are present."""
    for column in range(len(counts)):
        for row in range(starts.shape[1]):
            i, end = trimmed(data, starts[column, row], ends[column, row])
            if i < end and not is_missing(data, i, end, words, edges):
                counts[column, -1] += 1
                for kind in range(counts.shape[1] - 1):
                    counts[column, kind] += value_of(data, i, end, kind, decimal)[1]


@compiled
def blank_missing(data, starts, ends, words, edges):
    """Make tokens that stand for a missing value empty."""
    for row in range(len(starts)):
        i, end = trimmed(data, starts[row], ends[row])
        if i == end or is_missing(data, i, end, words, edges):
            ends[row] = starts[row]
