"""Values that arguments may take; importing them takes no time."""

TASKS = ("auto", "regression", "binary", "multiclass", "multilabel", "ordinal")
FORMATS = ("csv", "tsv", "xlsx", "jsonl", "parquet", "arrow", "npy", "svmlight", "vw")
ON_BAD_ROWS = ("error", "skip")
# A missing value makes its row invalid, stays NaN, or counts as 0.
ON_MISSING = ("error", "nan", "zero")
