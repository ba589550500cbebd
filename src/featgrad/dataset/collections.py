"""Which objects are Dask collections, and what is known of them before anything is computed."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.externals import array_api_compat


def is_array(X: Any) -> bool:
    return bool(array_api_compat.is_dask_array(X))


def is_frame(X: Any) -> bool:
    return bool(nw.dependencies.is_dask_dataframe(X))


def is_collection(X: Any) -> bool:
    """Whether X is an array or a frame of Dask; Dask is not imported for it."""
    return is_array(X) or is_frame(X)


def without_rows(X: Any) -> Any:
    """What scikit-learn reads the number and the names of features from."""
    if is_frame(X):
        return X.dtypes.to_frame().T
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            f"X has shape {X.shape}: give two dimensions and a known number of columns, such as "
            "that of frame.to_dask_array()."
        )
    return np.empty((0, X.shape[1]))


def only_columns(X: Any, columns: Any) -> Any:
    """Some columns, as a collection of which nothing is computed yet."""
    if is_frame(X):
        return X.iloc[:, columns.tolist()]
    if len(X.chunks[1]) > 1:
        return X[:, columns]
    # Blocks may be of scipy, which slicing a Dask array does not expect.
    chunks = X.chunks[0], (len(columns),)
    return X.map_blocks(_columns_of, columns, dtype=X.dtype, chunks=chunks)


def _columns_of(block: Any, columns: Any) -> Any:
    return block[:, columns]
