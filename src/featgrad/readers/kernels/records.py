"""Records of separated text: their fields as numbers, or as places of text."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.kernels import FIELDS, OK, UNCLOSED
from featgrad.readers.kernels.numbers import (
    AT_0,
    AT_1,
    AT_2,
    NEWLINE,
    NUMBER,
    RETURN,
    compiled,
    number,
    parse_token,
    present,
)

_QUOTE, _MINUS, _ZERO = (ord(c) for c in '"-0')
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
def _short_number(text, i, sep, point):
    """Fast path for a field of up to 18 digits without exponent; else the same as `number`."""
    start, fraction = i, AT_0
    negative = text[i] == _MINUS
    if negative:
        i += AT_1
    first = i
    mantissa, i = _digits(text, i, np.int64(0))
    digits = i - first
    if text[i] == point:
        first = i + AT_1
        mantissa, i = _digits(text, first, mantissa)
        fraction = i - first
        digits += fraction
    ends = text[i] == sep or text[i] == NEWLINE
    if not ends or digits == AT_0 or digits > _MAX_DIGITS or mantissa > _EXACT:
        return number(text, start, np.uintp(len(text)), point)
    value = float(mantissa) / _POWERS_OF_TEN[fraction]
    return -value if negative else value, i, True


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
def _plain_end(text, i, sep):
    """End of the field that starts at i, without a carriage return, and what follows it."""
    start = i
    while text[i] != sep and text[i] != NEWLINE:
        i += AT_1
    has_return = text[i] == NEWLINE and i > start and text[i - AT_1] == RETURN
    return i - AT_1 if has_return else i, i


@compiled
def _passed(text, i, sep, most):
    """Start of the field up to `most` fields after the one at i, and how many these are.

    They are fewer before a quote, and before the end of the line.
    """
    start, size, fields = i, np.uintp(len(text)), 0
    while i + np.uintp(_TOGETHER) <= size:
        separators = others = np.uint8(0)
        for k in range(_TOGETHER):
            byte = text[i + np.uintp(k)]
            separators += np.uint8(byte == sep)
            others += np.uint8((byte == NEWLINE) | (byte == _QUOTE))
        if others > 0 or fields + separators > most:
            break
        fields += separators
        i += np.uintp(_TOGETHER)
    while i > start and text[i - AT_1] != sep:
        i -= AT_1
    return i, fields


@compiled
def parse_records(
    text, sep, decimal, max_bytes, skip, places, kinds, words, edges, n_values_of_text, missing,
    values, starts, ends, escaped, lines, wrong,
):  # fmt: skip
    """Parse the fields of each record; a valid one has as many as there are `places`.

    1. A column goes to the column `place` of `values`, NaN for missing fields and for numbers in
       `missing`, or to row ``-2 - place`` of `starts` and `ends`; to neither if its place is -1.
    2. `words` that end at `edges` stand for missing fields, the last `n_values_of_text` of them
       not in text.
    3. `escaped` marks text with escaped (doubled) quotes, `lines` holds the first line of each
       record, `wrong` the place, start and end of its first field that is not of its kind; -1.
    4. Text from an unclosed quote on is left for the next chunk if it is no longer than
       `max_bytes`; else the line on which the record starts is invalid.

    Returns the number of records, the bytes and lines parsed, the error if the next record stopped
    the parser, the number of its fields, and the number of invalid records.
    """
    text_edges = edges[: len(edges) - n_values_of_text]
    # How many columns from each one on are not wanted, up to the last one.
    unwanted = np.zeros(len(places), np.int64)
    for column in range(len(places) - 2, -1, -1):
        unwanted[column] = unwanted[column + 1] + 1 if places[column] == -1 else 0
    i, size, line, rows, invalid = AT_0, np.uintp(len(text)), 0, 0, 0
    while i < size:
        begin, first_line, error, fields = i, line, OK, 0
        line += 1
        if text[i] == NEWLINE or (text[i] == RETURN and text[i + AT_1] == NEWLINE):
            i += AT_1 if text[i] == NEWLINE else AT_2
            continue
        wrong[rows, 0] = -1
        while True:
            place, parsed = places[fields] if fields < len(places) else -1, False
            if place == -1 and fields < len(places) and unwanted[fields] > 0:
                i, passed = _passed(text, i, sep, unwanted[fields])
                fields += passed
                place = places[fields]
            if place >= 0 and kinds[place] == NUMBER and text[i] != sep and sep != decimal:
                # Most fields: their end is that of the number.
                value, after, valid = _short_number(text, i, sep, decimal)
                if text[after] == RETURN and text[after + AT_1] == NEWLINE:
                    after += AT_1
                parsed = valid and (text[after] == sep or text[after] == NEWLINE)
            if parsed:
                i = after
            else:
                start, is_escaped, newlines = i, False, 0
                if text[i] == _QUOTE:
                    start += AT_1
                    stop, is_escaped, newlines = _quoted_end(text, start, size)
                    if stop == size and size - begin <= max_bytes:
                        return rows, begin, first_line, OK, 0, invalid
                    i = min(stop + AT_1, size - AT_1)
                    if text[i] == RETURN and text[i + AT_1] == NEWLINE:
                        i += AT_1
                    if stop == size or (text[i] != sep and text[i] != NEWLINE):
                        error = UNCLOSED
                        break
                    line += newlines
                else:
                    stop, i = _plain_end(text, i, sep)
                if place >= 0:
                    value, valid = parse_token(
                        text, start, stop, kinds[place], decimal, words, edges
                    )
                    if not valid and wrong[rows, 0] < 0:
                        wrong[rows, 0], wrong[rows, 1], wrong[rows, 2] = place, start, stop
                elif place < -1:
                    first, after = present(text, start, stop, words, text_edges)
                    starts[-2 - place, rows] = start
                    ends[-2 - place, rows] = start if first == after else stop
                    escaped[-2 - place, rows] = is_escaped and first < after
            if place >= 0:
                for k in range(len(missing)):
                    value = np.nan if value == missing[k] and kinds[place] == NUMBER else value
                values[rows, place] = value
            fields += 1
            i += AT_1
            if text[i - AT_1] == NEWLINE:
                break
        if error == UNCLOSED:
            i, line = begin, first_line + 1
            while text[i] != NEWLINE:
                i += AT_1
            i += AT_1
        elif fields != len(places):
            error = FIELDS
        if error != OK:
            if not skip:
                return rows, begin, first_line, error, fields, invalid
            invalid += 1
            continue
        lines[rows] = first_line
        rows += 1
    return rows, i, line, OK, 0, invalid
