"""Parser of Vowpal Wabbit text."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.kernels import errors
from featgrad.readers.kernels.hashing import is_utf8, murmur
from featgrad.readers.kernels.scan import (
    AT_0,
    AT_1,
    BAR,
    COLON,
    NEWLINE,
    QUOTE,
    compiled,
    is_blank,
    number,
)


@compiled
def _ends_token(byte):
    return is_blank(byte) or byte in (BAR, NEWLINE)


@compiled
def parse(text, skip, max_value, missing, labels, weights, indptr, hashes, values, spans):
    """Parse whole lines ``label importance base 'tag |space:scale name:value ... |space ...``.

    `hashes` receives the hash of each feature's name, seeded by that of its namespace; `spans` the
    start and end of the namespace and of the name in the text. Returns the number of rows and of
    parsed lines, the error if the next line stopped the parser, and the number of invalid lines.
    """
    i, size, line, rows, entries, invalid = AT_0, np.uintp(len(text)), -1, 0, 0, 0
    indptr[0] = 0
    while i < size:
        line += 1
        error, start = errors.OK, entries
        while is_blank(text[i]):
            i += AT_1
        if text[i] != NEWLINE:
            weight, numbers_seen, tagged = 1.0, 1, False
            label, i, valid = number(text, i, size)
            if not (valid and np.isfinite(label) and _ends_token(text[i])):
                error = errors.LABEL
            while error == errors.OK:
                while is_blank(text[i]):
                    i += AT_1
                if text[i] == BAR or text[i] == NEWLINE:
                    break
                token = i
                while not _ends_token(text[i]):
                    i += AT_1
                if tagged:
                    error = errors.HEAD
                elif text[token] == QUOTE or text[i] == BAR:
                    tagged = True
                else:
                    value, after, valid = number(text, token, size)
                    if not valid or after != i or numbers_seen > 2:
                        error = errors.HEAD
                    elif numbers_seen == 1:
                        weight = value
                        if not (0 <= value < np.inf):
                            error = errors.WEIGHT
                    numbers_seen += 1
            while error == errors.OK and text[i] == BAR:
                i += AT_1
                space = i
                while not _ends_token(text[i]) and text[i] != COLON:
                    i += AT_1
                space_end, scale = i, 1.0
                seed = murmur(text, space, space_end, 0)
                if not is_utf8(text, space, space_end):
                    error = errors.ENCODING
                    break
                if text[i] == COLON:
                    scale, i, valid = number(text, i + AT_1, size)
                    if not (valid and np.isfinite(scale) and _ends_token(text[i])):
                        error = errors.VALUE
                while error == errors.OK:
                    while is_blank(text[i]):
                        i += AT_1
                    if text[i] == BAR or text[i] == NEWLINE:
                        break
                    name = i
                    while not _ends_token(text[i]) and text[i] != COLON:
                        i += AT_1
                    name_end, value = i, 1.0
                    if name == name_end:
                        error = errors.NAME
                        break
                    if not is_utf8(text, name, name_end):
                        error = errors.ENCODING
                        break
                    if text[i] == COLON:
                        value, i, valid = number(text, i + AT_1, size)
                        if not (valid and _ends_token(text[i])):
                            error = errors.VALUE
                            break
                    value *= scale
                    if abs(value) > max_value:
                        error = errors.INFINITE
                    elif np.isnan(value) and missing == 0:
                        error = errors.NAN
                    elif not (np.isnan(value) and missing == 2):
                        hashes[entries] = murmur(text, name, name_end, seed)
                        values[entries] = value
                        spans[entries, 0], spans[entries, 1] = space, space_end
                        spans[entries, 2], spans[entries, 3] = name, name_end
                        entries += 1
            if error == errors.OK:
                labels[rows], weights[rows] = label, weight
                rows += 1
                indptr[rows] = entries
            else:
                invalid += 1
                entries = start
                if not skip:
                    return rows, line, error, invalid
        while text[i] != NEWLINE:
            i += AT_1
        i += AT_1
    return rows, line + 1, errors.OK, invalid
