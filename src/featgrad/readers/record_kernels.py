"""Compiled loops over records of text: plain numbers, places of other fields, depth of JSON."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.number_kernels import (
    AT_0,
    AT_1,
    AT_2,
    MINUS,
    NEWLINE,
    RETURN,
    compiled,
    scaled,
)

# Why a record is invalid.
OK, UNCLOSED, FIELDS = range(3)
_QUOTE, _ZERO, _BACKSLASH, _OPEN, _CLOSE = (ord(c) for c in '"0\\{}')
# Digits that fit 64 bits.
_MAX_DIGITS = np.uintp(18)


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
def _plain_number(text, i, sep, point):
    """A field of up to 18 digits without exponent, its end, and whether it is one.

    Most fields are: their end is not looked for. The text ends with a newline, so that no test for
    its end is needed, which would take twice the time.
    """
    negative, fraction = text[i] == MINUS, AT_0
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
    if text[i] == RETURN and text[i + AT_1] == NEWLINE:
        i += AT_1
    if (text[i] != sep and text[i] != NEWLINE) or digits == AT_0 or digits > _MAX_DIGITS:
        return 0.0, i, False
    value, sure = scaled(mantissa, -np.int64(fraction), False)
    return -value if negative else value, i, sure


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
def split_records(
    text, sep, decimal, max_bytes, skip, places, values, others, starts, ends, escaped, lines
):
    """Split text into records; a valid one has as many fields as there are `places`.

    1. A column goes to the column `place` of `values`, or to row ``-2 - place`` of `starts` and
       `ends`; to neither if its place is -1. `others` lists fields that are to be numbers but are
       not plain ones: their row, place, start and end.
    2. `escaped` marks fields with escaped (doubled) quotes, `lines` holds the first line of each
       record.
    3. Text from an unclosed quote on is left for the next chunk if it is no longer than
       `max_bytes`; else the line on which the record starts is invalid.

    Returns the number of records and of others, the bytes and lines parsed, the error if the next
    record stopped the parser, the number of its fields, and the number of invalid records.
    """
    i, size, line, rows, n_others, invalid = AT_0, np.uintp(len(text)), 0, 0, 0, 0
    while i < size:
        begin, first_line, others_before, error, fields = i, line, n_others, OK, 0
        line += 1
        if text[i] == NEWLINE or (text[i] == RETURN and text[i + AT_1] == NEWLINE):
            i += AT_1 if text[i] == NEWLINE else AT_2
            continue
        while True:
            place, is_plain = places[fields] if fields < len(places) else -1, False
            if place >= 0:
                values[rows, place], after, is_plain = _plain_number(text, i, sep, decimal)
            if is_plain:
                i = after
            else:
                start, is_escaped, newlines = i, False, 0
                if text[i] == _QUOTE:
                    start += AT_1
                    stop, is_escaped, newlines = _quoted_end(text, start, size)
                    if stop == size and size - begin <= max_bytes:
                        return rows, others_before, begin, first_line, OK, 0, invalid
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
                    others[n_others, 0], others[n_others, 1] = rows, place
                    others[n_others, 2], others[n_others, 3] = start, stop
                    n_others += 1
                elif place < -1:
                    starts[-2 - place, rows], ends[-2 - place, rows] = start, stop
                    escaped[-2 - place, rows] = is_escaped
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
            n_others = others_before
            if not skip:
                return rows, n_others, begin, first_line, error, fields, invalid
            invalid += 1
            continue
        lines[rows] = first_line
        rows += 1
    return rows, n_others, i, line, OK, 0, invalid


@compiled
def nesting(text):
    """The largest number of brackets of JSON that are open at once, outside of strings."""
    i, size, depth, deepest, is_string = AT_0, np.uintp(len(text)), 0, 0, False
    while i < size:
        byte = text[i]
        if is_string:
            is_string = byte != _QUOTE
            i += AT_1 if byte == _BACKSLASH else AT_0
        elif byte == _QUOTE:
            is_string = True
        elif byte | 32 == _OPEN:  # also a square one
            depth += 1
            deepest = max(deepest, depth)
        elif byte | 32 == _CLOSE:
            depth -= 1
        i += AT_1
    return deepest
