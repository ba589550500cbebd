"""All rows of a source at once, for comparison."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from featgrad.readers import Source


@dataclass
class Rows:
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


def first_features(source: Source) -> np.ndarray:
    """The first feature of each variable of a table."""
    return np.unique(source.feature_names.groups, return_index=True)[1]


def read(source: Source) -> Rows:
    """Every block, dense, one below the other."""
    blocks = list(source)
    matrices = [b.X.toarray() if sparse.issparse(b.X) else b.X for b in blocks]
    weights = [b.weight for b in blocks if b.weight is not None]
    return Rows(
        np.concatenate(matrices) if matrices else np.empty((0, source.n_features)),
        np.concatenate([b.y for b in blocks]) if blocks else np.empty(0),
        np.concatenate(weights) if weights else None,
    )
