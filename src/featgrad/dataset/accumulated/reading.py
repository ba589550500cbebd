"""One reading of a source with many rows of few columns."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from featgrad.dataset.accumulated import kept_rows
from featgrad.dataset.accumulated.fold_moments import fit_into_memory
from featgrad.dataset.accumulated.state import Accumulated
from featgrad.dataset.checks import check_missing, check_raw_weights
from featgrad.dataset.streamed import used_rows
from featgrad.math.target_sums import TargetSums
from featgrad.math.targets import Encoding
from featgrad.readers import Source, prefetched


def read_once(
    source: Source, task: str, preprocess: str, missing: str, rng: np.random.RandomState
) -> Accumulated | None:
    """All rows, added up.

    None where that cannot be done: rows are too few or columns too many, or the first rows mislead
    about the others, as those of a sorted file do. What classes there are and how columns are
    compressed has to be known from the start.
    """
    if (source.n_rows or np.inf) * source.n_features <= kept_rows.MOST_ENTRIES:
        return None
    state, targets = None, TargetSums(task)
    for block in used_rows(prefetched(source)):
        if state is None:
            encoding = Encoding.of(block.y, task)
            if not fit_into_memory(source.n_features, encoding.n_columns):
                return None
            state = Accumulated(
                encoding, source.n_features, sparse.issparse(block.X), preprocess, rng
            )
        check_missing(block.X, missing)
        if not state.encoding.knows(block.y):
            return None
        weights = check_raw_weights(block.weight, len(block))
        targets.add(block.y, weights)
        state.add(block.X, block.y, weights)
    if state is None or state.columns() is None or not state.is_typical():
        return None
    return state if targets.encoding() == state.encoding else None
