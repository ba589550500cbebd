"""Why a line cannot be used: a number in compiled code, a sentence for people."""

from __future__ import annotations

MESSAGES = (
    "",
    "the label is missing or is no finite number",
    "an index is no whole number of 0 or more",
    "an index is not followed by a colon",
    "an index is larger than the number of features allows",
    "indices do not increase",
    "a value is no number",
    "a value is infinite",
    "a value is missing: pass missing='nan' or missing='zero' to keep such rows",
    "the text before the first bar is not 'label importance base tag'",
    "a feature has no name",
    "a qid is no whole number",
    "the importance is no finite number of 0 or more",
    "an index is 0 but indices count from 1",
    "its bytes are not UTF-8",
    "a quote does not close, or text follows it",
    "it has another number of fields than there are columns",
)
(
    OK, LABEL, INDEX, COLON, LARGE, ORDER, VALUE, INFINITE, NAN, HEAD, NAME, QID,
    WEIGHT, ZERO, ENCODING, UNCLOSED, FIELDS,
) = range(len(MESSAGES))  # fmt: skip
