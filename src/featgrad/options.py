"""Values that arguments may take, and versions of packages; importing them takes no time."""

from importlib.metadata import PackageNotFoundError, version

TASKS = ("auto", "regression", "binary", "multiclass", "multilabel", "ordinal")
ON_BAD_ROWS = ("error", "skip")
# A missing value makes its row invalid, stays NaN, or counts as 0.
ON_MISSING = ("error", "nan", "zero")
# Rows after which a row of a stream counts half.
HALF_LIFE = 2000


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from its sources
        return "(not installed)"
