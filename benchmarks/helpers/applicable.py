"""Which targets a selector is for: classes 0..C-1 as integers, or numbers as floats."""

from functools import wraps

import numpy as np


class NotApplicableError(Exception):
    """The selector is not meant for this kind of data."""


def is_regression(y):
    """Whether a target holds numbers rather than classes."""
    return np.issubdtype(y.dtype, np.floating)


def for_classes(select):
    """A selector that needs classes."""
    return restricted(select, "it needs classes", lambda y: not is_regression(y))


def for_regression(select):
    """A selector that needs numbers to predict."""
    return restricted(select, "it is for regression", is_regression)


def restricted(select, reason, applies):
    @wraps(select)
    def checked(X, y, *arguments, **settings):
        if not applies(y):
            raise NotApplicableError(reason)
        return select(X, y, *arguments, **settings)

    return checked
