"""Lines of Vowpal Wabbit text."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
from __future__ import annotations

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
def parse(text, skip, largest_value, missing, labels, weights, indptr, found, values, names):
    """Parse whole lines ``label importance base 'tag |space:scale name:value ... |space ...``.

    `found` gets the hash of each feature's name, seeded by that of its space; `names` where both
    stand in the text: space from, space to, name from, name to. Returns the rows, the lines
    passed, the reason if the line after those stopped it, and the number of bad lines.
    """
    i, size, line, rows, entries, bad = AT_0, np.uintp(len(text)), -1, 0, 0, 0
    indptr[0] = 0
    while i < size:
        line += 1
        reason, start = errors.OK, entries
        while is_blank(text[i]):
            i += AT_1
        if text[i] != NEWLINE:
            weight, numbers_seen, tagged = 1.0, 1, False
            label, i, valid = number(text, i, size)
            if not (valid and np.isfinite(label) and _ends_token(text[i])):
                reason = errors.LABEL
            while reason == errors.OK:
                while is_blank(text[i]):
                    i += AT_1
                if text[i] == BAR or text[i] == NEWLINE:
                    break
                token = i
                while not _ends_token(text[i]):
                    i += AT_1
                if tagged:
                    reason = errors.HEAD
                elif text[token] == QUOTE or text[i] == BAR:
                    tagged = True
                else:
                    value, after, valid = number(text, token, size)
                    if not valid or after != i or numbers_seen > 2:
                        reason = errors.HEAD
                    elif numbers_seen == 1:
                        weight = value
                        if not (0 <= value < np.inf):
                            reason = errors.WEIGHT
                    numbers_seen += 1
            while reason == errors.OK and text[i] == BAR:
                i += AT_1
                space = i
                while not _ends_token(text[i]) and text[i] != COLON:
                    i += AT_1
                space_end, scale = i, 1.0
                seed = murmur(text, space, space_end, 0)
                if not is_utf8(text, space, space_end):
                    reason = errors.ENCODING
                    break
                if text[i] == COLON:
                    scale, i, valid = number(text, i + AT_1, size)
                    if not (valid and np.isfinite(scale) and _ends_token(text[i])):
                        reason = errors.VALUE
                while reason == errors.OK:
                    while is_blank(text[i]):
                        i += AT_1
                    if text[i] == BAR or text[i] == NEWLINE:
                        break
                    name = i
                    while not _ends_token(text[i]) and text[i] != COLON:
                        i += AT_1
                    name_end, value = i, 1.0
                    if name == name_end:
                        reason = errors.NAME
                        break
                    if not is_utf8(text, name, name_end):
                        reason = errors.ENCODING
                        break
                    if text[i] == COLON:
                        value, i, valid = number(text, i + AT_1, size)
                        if not (valid and _ends_token(text[i])):
                            reason = errors.VALUE
                            break
                    value *= scale
                    if abs(value) > largest_value:
                        reason = errors.INFINITE
                    elif np.isnan(value) and missing == 0:
                        reason = errors.NAN
                    elif not (np.isnan(value) and missing == 2):
                        found[entries] = murmur(text, name, name_end, seed)
                        values[entries] = value
                        names[entries, 0], names[entries, 1] = space, space_end
                        names[entries, 2], names[entries, 3] = name, name_end
                        entries += 1
            if reason == errors.OK:
                labels[rows], weights[rows] = label, weight
                rows += 1
                indptr[rows] = entries
            else:
                bad += 1
                entries = start
                if not skip:
                    return rows, line, reason, bad
        while text[i] != NEWLINE:
            i += AT_1
        i += AT_1
    return rows, line + 1, errors.OK, bad
