"""Split records of CSV and TSV text into fields."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.kernels import errors
from featgrad.readers.kernels.scan import AT_0, AT_1, AT_2, NEWLINE, RETURN, compiled, number

_QUOTE, _MINUS, _POINT, _ZERO = (ord(c) for c in '"-.0')
# Digits that fit 64 bits, the largest integer whose double is exact, and exact powers of ten.
_MAX_DIGITS, _EXACT = np.uintp(18), 2**53
_POWERS_OF_TEN = 10.0 ** np.arange(19)
# Bytes that are looked at together, in the registers of a core.
_TOGETHER = 32


@compiled
def _digits(text, i, mantissa):
    """Append the digits from i on to the mantissa; returns it and where the digits end."""
    while True:
        digit = np.int64(text[i]) - _ZERO
        if digit < 0 or digit > 9:
            return mantissa, i
        mantissa = 10 * mantissa + digit
        i += AT_1


@compiled
def _short_number(text, i, delimiter):
    """Fast path for a field of up to 18 digits without exponent; else the same as `number`."""
    start, fraction = i, AT_0
    negative = text[i] == _MINUS
    if negative:
        i += AT_1
    first = i
    mantissa, i = _digits(text, i, np.int64(0))
    digits = i - first
    if text[i] == _POINT:
        first = i + AT_1
        mantissa, i = _digits(text, first, mantissa)
        fraction = i - first
        digits += fraction
    ends = text[i] == delimiter or text[i] == NEWLINE
    if not ends or digits == AT_0 or digits > _MAX_DIGITS or mantissa > _EXACT:
        return number(text, start, np.uintp(len(text)))
    value = float(mantissa) / _POWERS_OF_TEN[fraction]
    return -value if negative else value, i, True


@compiled
def _text_end(text, i, delimiter):
    """Start and end of the field of text at i, and what follows it, a quote of its own included.

    A quoted field that does not end on its line is followed by its first quote, which nobody takes
    for the end of a field.
    """
    start = i
    if text[i] == _QUOTE:
        start = i = i + AT_1
        while text[i] != _QUOTE and text[i] != NEWLINE:
            i += AT_1
        return start, i, i + AT_1 if text[i] == _QUOTE else start - AT_1
    while text[i] != delimiter and text[i] != NEWLINE:
        i += AT_1
    if text[i] == NEWLINE and i > start and text[i - AT_1] == RETURN:
        i -= AT_1
    return start, i, i


@compiled
def _passed(text, i, delimiter, most):
    """Start of the field up to `most` fields after the one at i, and how many these are.

    They are fewer before a quote, and before the end of the line.
    """
    start, size, fields = i, np.uintp(len(text)), 0
    while i + np.uintp(_TOGETHER) <= size:
        delimiters = others = np.uint8(0)
        for k in range(_TOGETHER):
            byte = text[i + np.uintp(k)]
            delimiters += np.uint8(byte == delimiter)
            others += np.uint8((byte == NEWLINE) | (byte == _QUOTE))
        if others > 0 or fields + delimiters > most:
            break
        fields += delimiters
        i += np.uintp(_TOGETHER)
    while i > start and text[i - AT_1] != delimiter:
        i -= AT_1
    return i, fields


@compiled
def parse_plain(text, delimiter, places, values, starts, ends):
    """Parse records of numbers, empty fields, and text in which no quote or newline is quoted.

    A column goes to the column `place` of `values`, NaN for empty fields, or to row ``-2 - place``
    of `starts` and `ends`; to neither if its place is -1. `values` has a row for each line. Returns
    whether all of the text is of this form.
    """
    n_rows, n_columns = len(values), len(places)
    # How many columns from each one on are not wanted, up to the last one.
    unwanted = np.zeros(n_columns, np.int64)
    for column in range(n_columns - 2, -1, -1):
        unwanted[column] = unwanted[column + 1] + 1 if places[column] == -1 else 0
    i = AT_0
    for row in range(n_rows):
        column = 0
        while column < n_columns:
            if unwanted[column] > 0:
                i, passed = _passed(text, i, delimiter, unwanted[column])
                column += passed
            place, last = places[column], column == n_columns - 1
            if place < 0:
                start, stop, i = _text_end(text, i, delimiter)
                if place < -1:
                    starts[-2 - place, row], ends[-2 - place, row] = start, stop
            elif text[i] == delimiter or text[i] == NEWLINE:
                values[row, place] = np.nan
            else:
                value, i, valid = _short_number(text, i, delimiter)
                if not valid:
                    return False
                values[row, place] = value
            if last and text[i] == RETURN:
                i += AT_1
            if text[i] != (NEWLINE if last else delimiter):
                return False
            i += AT_1
            column += 1
    return True


@compiled
def _quoted_end(text, i, size):
    """End of the quoted field that starts at i, or the size; escaped quotes and newlines in it."""
    escaped, line_ends = False, 0
    while i < size:
        line_ends += text[i] == NEWLINE
        if text[i] == _QUOTE:
            if i + AT_1 < size and text[i + AT_1] == _QUOTE:
                escaped = True
                i += AT_1
            else:
                break
        i += AT_1
    return i, escaped, line_ends


@compiled
def split(text, delimiter, max_bytes, skip, starts, ends, escaped, lines):
    """Find the fields of each record; a valid one has as many as `starts` has rows.

    `escaped` marks fields with escaped (doubled) quotes, `lines` holds the first line of each
    record. Text from an unclosed quote on is left for the next chunk if it is no longer than
    `max_bytes`; else the line on which the record starts is invalid. Returns the number of records,
    the bytes and lines parsed, the error if the next record stopped the parser, the number of its
    fields, and the number of invalid records.
    """
    n_columns = len(starts)
    i, size, line, rows, invalid = AT_0, np.uintp(len(text)), 0, 0, 0
    while i < size:
        begin, first_line, error, fields = i, line, errors.OK, 0
        line += 1
        if text[i] == NEWLINE or (text[i] == RETURN and text[i + AT_1] == NEWLINE):
            i += AT_1 if text[i] == NEWLINE else AT_2
            continue
        while True:
            is_escaped = False
            if text[i] == _QUOTE:
                start = i + AT_1
                stop, is_escaped, newlines = _quoted_end(text, start, size)
                if stop == size:
                    if size - begin <= max_bytes:
                        return rows, begin, first_line, errors.OK, 0, invalid
                    error = errors.UNCLOSED
                    break
                line += newlines
                i = stop + AT_1
                if text[i] == RETURN and text[i + AT_1] == NEWLINE:
                    i += AT_1
                if text[i] != delimiter and text[i] != NEWLINE:
                    error = errors.UNCLOSED
                    break
            else:
                start = i
                while text[i] != delimiter and text[i] != NEWLINE:
                    i += AT_1
                stop = i
                if text[i] == NEWLINE and stop > start and text[stop - AT_1] == RETURN:
                    stop -= AT_1
            if fields < n_columns:
                starts[fields, rows], ends[fields, rows] = start, stop
                escaped[fields, rows] = is_escaped
            fields += 1
            i += AT_1
            if text[i - AT_1] == NEWLINE:
                break
        if error == errors.UNCLOSED:
            i, line = begin, first_line + 1
            while text[i] != NEWLINE:
                i += AT_1
            i += AT_1
        elif fields != n_columns:
            error = errors.FIELDS
        if error != errors.OK:
            if not skip:
                return rows, begin, first_line, error, fields, invalid
            invalid += 1
            continue
        lines[rows] = first_line
        rows += 1
    return rows, i, line, errors.OK, 0, invalid
