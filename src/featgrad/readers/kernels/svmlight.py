"""Parser of svmlight text."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers import kernels as errors
from featgrad.readers.kernels.numbers import (
    AT_0,
    AT_1,
    AT_2,
    AT_3,
    COLON,
    HASH,
    NEWLINE,
    POINT,
    RETURN,
    SPACE,
    TAB,
    compiled,
    number,
)


@compiled
def _is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@compiled
def _is_end(byte):
    return byte in (NEWLINE, HASH)


@compiled
def parse_rows(
    text, skip, first_index, max_index, max_value, missing, labels, indptr, indices, values
):
    """Parse whole lines ``label qid:n index:value ... # comment``.

    Stored indices start at 0. Returns the number of rows and of parsed lines, the error if the next
    line stopped the parser, the number of invalid lines, the smallest and the largest index.
    """
    i, size, line, rows, entries, invalid = AT_0, np.uintp(len(text)), -1, 0, 0, 0
    lowest, highest = max_index, np.int64(-1)
    indptr[0] = 0
    while i < size:
        line += 1
        error, start, low, high = errors.OK, entries, lowest, highest
        while _is_blank(text[i]):
            i += AT_1
        if not _is_end(text[i]):
            label, i, valid = number(text, i, size, POINT)
            if not (valid and np.isfinite(label) and (_is_blank(text[i]) or _is_end(text[i]))):
                error = errors.LABEL
            last = np.int64(-1)
            while error == errors.OK:
                while _is_blank(text[i]):
                    i += AT_1
                if _is_end(text[i]):
                    break
                if text[i] == 113 and text[i + AT_1] == 105 and text[i + AT_2] == 100:
                    i += AT_3
                    if text[i] != COLON or entries > start:
                        error = errors.QID
                        break
                    i += AT_1
                    digits = i
                    while 48 <= text[i] <= 57:
                        i += AT_1
                    if i == digits or not (_is_blank(text[i]) or _is_end(text[i])):
                        error = errors.QID
                    continue
                digits, index = i, np.int64(0)
                while 48 <= text[i] <= 57:
                    if index <= max_index:
                        index = 10 * index + np.int64(text[i]) - 48
                    i += AT_1
                if i == digits:
                    error = errors.INDEX
                elif text[i] != COLON:
                    error = errors.COLON if _is_blank(text[i]) or _is_end(text[i]) else errors.INDEX
                elif index < first_index:
                    error = errors.ZERO
                elif index > max_index:
                    error = errors.LARGE
                elif index <= last:
                    error = errors.ORDER
                if error != errors.OK:
                    break
                last = index
                value, i, valid = number(text, i + AT_1, size, POINT)
                if not (valid and (_is_blank(text[i]) or _is_end(text[i]))):
                    error = errors.VALUE
                elif abs(value) > max_value:
                    error = errors.INFINITE
                elif np.isnan(value) and missing == 0:
                    error = errors.NAN
                else:
                    low, high = min(low, index), max(high, index)
                    if not (np.isnan(value) and missing == 2):
                        indices[entries] = index - first_index
                        values[entries] = value
                        entries += 1
            if error == errors.OK:
                labels[rows] = label
                lowest, highest = low, high
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
    return rows, line + 1, errors.OK, invalid, lowest, highest
