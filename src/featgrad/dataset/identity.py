"""What tells one fit from another, so that none goes on with the checkpoint of another."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib
from scipy import sparse

from featgrad.dataset.checkpoint import NO_CHECKPOINT, Checkpoint
from featgrad.readers import Source

# To be raised when passes keep something else than before.
_FORMAT = 3
# Parameters that say nothing about the result.
_SILENT = {"verbose"}


def open_checkpoint(
    path: str | os.PathLike[str] | None, parameters: Mapping[str, Any], source: Source
) -> Checkpoint:
    """The checkpoint of a fit, new or as a killed one left it."""
    if path is None:
        return NO_CHECKPOINT
    told = {name: value for name, value in parameters.items() if name not in _SILENT}
    return Checkpoint(path, str(joblib.hash((_FORMAT, told, *_of_source(source)))))


def _of_source(source: Source) -> tuple[Any, ...]:
    """Its size and names, the first block, and of a file when it was last changed."""
    names, path = source.feature_names, Path(source.name)
    first = next(iter(source), None)
    block: list[Any] = []
    if first is not None:
        X = first.X
        entries = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        block = [*entries, first.y, first.weight]
    return (
        (source.n_features, source.n_rows, source.block_rows),
        None if names is None else "\n".join(names),
        (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None,
        block,
    )
