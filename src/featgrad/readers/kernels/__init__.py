"""Compiled loops over bytes of text, and the errors of rows that they find."""

MESSAGES = (
    "",
    "the label is missing or not a finite number",
    "an index is not an integer of at least 0",
    "an index is not followed by a colon",
    "an index is larger than the number of features allows",
    "indices do not increase",
    "a value is not a number",
    "a value is infinite",
    "a value is missing: pass missing='nan' or missing='zero' to keep such rows",
    "a qid is not an integer",
    "an index is 0 but indices start at 1",
    "a quoted field is not closed, or text follows it",
    "the number of fields is not that of the columns",
)
# Codes of errors: their places among the messages.
(
    OK, LABEL, INDEX, COLON, LARGE, ORDER, VALUE, INFINITE, NAN, QID, ZERO, UNCLOSED, FIELDS,
) = range(len(MESSAGES))  # fmt: skip
