"""Compiled loops over records of text: fields of CSV, rows of svmlight, depth of JSON."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.number_kernels import (
    AT_0,
    AT_1,
    AT_2,
    AT_3,
    COLON,
    HASH,
    MINUS,
    NEWLINE,
    POINT,
    RETURN,
    SPACE,
    TAB,
    compiled,
    integer,
    number,
    scaled,
)

# Why a record is invalid.
OK, UNCLOSED, FIELDS = range(3)
_QUOTE, _ZERO, _BACKSLASH, _OPEN, _CLOSE = (ord(c) for c in '"0\\{}')
# Why a line of svmlight is invalid.
ROW_ERRORS = (
    "",
    "the label is missing or not a finite number",
    "a qid is not an integer",
    "an index is not an integer of at least 0",
    "an index is not followed by a colon",
    "an index is 0 but indices start at 1",
    "an index is larger than the number of features allows",
    "indices do not increase",
    "a value is not a number",
)
# Codes of errors: their places among the messages.
_, _LABEL, _QID, _INDEX, _COLON, _LOW, _LARGE, _ORDER, _VALUE = range(len(ROW_ERRORS))
_Q, _I, _D = (ord(c) for c in "qid")
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


@compiled
def _is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@compiled
def _ends(byte):
    """Whether a number may stand before it."""
    return byte in (SPACE, TAB, RETURN, NEWLINE, HASH)


@compiled
def parse_rows(text, skip, first_index, max_index, labels, indptr, indices, values, lines):
    """Parse whole lines ``label qid:n index:value ... # comment``.

    Stored indices start at 0. Returns the number of rows and of parsed lines, the error if the next
    line stopped the parser, the number of invalid lines, the smallest and the largest index.
    """
    i, size, line, rows, entries, invalid = AT_0, np.uintp(len(text)), -1, 0, 0, 0
    lowest, highest = max_index, np.int64(-1)
    indptr[0] = 0
    while i < size:
        line += 1
        error, start, last, first = OK, entries, np.int64(-1), max_index
        while _is_blank(text[i]):
            i += AT_1
        if text[i] != NEWLINE and text[i] != HASH:
            label, i, valid = number(text, i, size, POINT)
            if not (valid and np.isfinite(label) and _ends(text[i])):
                error = _LABEL
            while error == OK:
                while _is_blank(text[i]):
                    i += AT_1
                if text[i] == NEWLINE or text[i] == HASH:
                    break
                is_qid = text[i] == _Q and text[i + AT_1] == _I and text[i + AT_2] == _D
                i += AT_3 + AT_1 if is_qid else AT_0
                index, _, after = integer(text, i, size, np.int64(0))
                if is_qid:
                    is_first = text[i - AT_1] == COLON and after > i and entries == start
                    if not is_first or not _ends(text[after]):
                        error = _QID
                    i = after
                    continue
                if after == i:
                    error = _INDEX
                elif text[after] != COLON:
                    error = _COLON if _ends(text[after]) else _INDEX
                elif index < first_index:
                    error = _LOW
                elif index > max_index:
                    error = _LARGE
                elif index <= last:
                    error = _ORDER
                if error == OK:
                    value, i, valid = number(text, after + AT_1, size, POINT)
                    if not (valid and _ends(text[i])):
                        error = _VALUE
                    indices[entries], values[entries] = index - first_index, value
                    last, first, entries = index, min(first, index), entries + 1
            if error == OK:
                labels[rows], lines[rows] = label, line
                lowest, highest = min(lowest, first), max(highest, last)
                rows += 1
                indptr[rows] = entries
            else:
                invalid += 1
                entries = start
                if not skip:
                    return rows, line, error, invalid, lowest, highest
        while text[i] != NEWLINE:
            i += AT_1
        i += AT_1
    return rows, line + 1, OK, invalid, lowest, highest
