"""What tells one fit from another, so that none goes on with the checkpoint of another."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import joblib
from scipy import sparse

from featgrad.atomic import locked
from featgrad.dataset.checkpoint import NO_CHECKPOINT, Checkpoint, check_place
from featgrad.readers import Source

# To be raised when passes keep something other than before.
_FORMAT = 6
# Parameters that say nothing about the result.
_SILENT = {"verbose"}


@contextmanager
def open_checkpoint(
    path: str | os.PathLike[str] | None, parameters: Mapping[str, Any], source: Source
) -> Iterator[Checkpoint]:
    """The checkpoint of a fit, new or as a killed one left it, locked while it is in use."""
    if path is None:
        yield NO_CHECKPOINT
        return
    check_place(path)
    told = {name: value for name, value in parameters.items() if name not in _SILENT}
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(Path(path)))
        except BlockingIOError as error:
            raise ValueError(
                f"checkpoint {str(path)!r} is in use by another fit: wait for it, or name another "
                "file."
            ) from error
        yield Checkpoint(path, str(joblib.hash((_FORMAT, told, *_of_source(source)))))


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
