"""Differences between array libraries: namespace, device, copies to and from NumPy, and Dask."""

import gc
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn._config import get_config

from featgrad._support.sklearn_compat import array_api_compat, convert_to_numpy


def namespace(X: Any) -> Any:
    """The array-API namespace of X."""
    return np if isinstance(X, np.ndarray) else array_api_compat.array_namespace(X)


def is_foreign(X: Any) -> bool:
    """Whether X is an array of a library other than NumPy."""
    return not isinstance(X, np.ndarray | np.generic) and array_api_compat.is_array_api_obj(X)


def on_cpu(X: Any) -> bool:
    return "cpu" in str(X.device).lower()


def on_accelerator(X: Any) -> bool:
    if array_api_compat.is_cupy_array(X):
        return True
    is_known = array_api_compat.is_torch_array(X) or array_api_compat.is_jax_array(X)
    return is_known and not on_cpu(X)


def stays_in_library(X: Any) -> bool:
    """Whether what comes of X belongs into its library and onto its device.

    Arrays on an accelerator stay there; those of other libraries on the host do so where
    scikit-learn is set to dispatch, and are NumPy's otherwise.
    """
    return is_foreign(X) and (get_config()["array_api_dispatch"] or on_accelerator(X))


def to_numpy(values: Any) -> NDArray[Any]:
    """A copy on the host, or the array itself where it is there."""
    if isinstance(values, np.ndarray | np.generic):
        return np.asarray(values)
    return np.asarray(convert_to_numpy(values, namespace(values)))


def on_host(values: Any) -> Any:
    """Arrays of other libraries as NumPy's; all else, lists and frames among it, as it is."""
    return to_numpy(values) if is_foreign(values) else values


def placed_like(other: Any, values: NDArray[Any]) -> Any:
    """The values in the library and on the device of another array."""
    if not is_foreign(other):
        return values
    return namespace(other).asarray(values, device=array_api_compat.device(other))


def zeros(shape: Any, like: Any = None) -> Any:
    """In double precision, in the library and on the device of another array."""
    if not is_foreign(like):
        return np.zeros(shape)
    xp = namespace(like)
    return xp.zeros(shape, dtype=xp.float64, device=array_api_compat.device(like))


def captured(run: Callable[[], None], device: Any) -> Callable[[], None]:
    """All operations of a function on a device as one graph, launched at once; runs it once."""
    # Imported where it is needed: torch need not be there.
    import torch

    stream, graph = torch.cuda.Stream(device), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        run()
    stream.synchronize()
    # Graphs that are not used any more may not be taken apart while one is captured.
    gc.disable()
    try:
        with torch.cuda.stream(stream):
            graph.capture_begin()
            run()
            graph.capture_end()
    finally:
        gc.enable()
    # The graph works on the arrays that the function refers to, which have to stay.
    kept = graph, run
    return lambda: kept[0].replay()


def dense(X: Any) -> Any:
    """A sparse matrix as an array; arrays as they are."""
    return X.toarray() if sparse.issparse(X) else X


def is_dask_array(X: Any) -> bool:
    return bool(array_api_compat.is_dask_array(X))


def is_dask_frame(X: Any) -> bool:
    return bool(nw.dependencies.is_dask_dataframe(X))


def is_dask(X: Any) -> bool:
    """Whether X is an array or a frame of Dask; Dask is not imported for it."""
    return is_dask_array(X) or is_dask_frame(X)


def without_rows(X: Any) -> Any:
    """What scikit-learn reads the number and the names of features from."""
    if is_dask_frame(X):
        return X.dtypes.to_frame().T
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            f"X has shape {X.shape}: give two dimensions and a known number of columns, such as "
            "that of frame.to_dask_array()."
        )
    return np.empty((0, X.shape[1]))


def only_columns(X: Any, columns: Any) -> Any:
    """Some columns, as a collection of which nothing is computed yet."""
    if is_dask_frame(X):
        return X.iloc[:, columns.tolist()]
    if len(X.chunks[1]) > 1:
        return X[:, columns]
    # Blocks may be of scipy, which slicing a Dask array does not expect.
    chunks = X.chunks[0], (len(columns),)
    return X.map_blocks(_columns_of, columns, dtype=X.dtype, chunks=chunks)


def mapped(X: Any, function: Any, n_columns: int) -> Any:
    """What a function makes of the rows of each partition, as a Dask array of so many columns."""
    X = X.to_dask_array() if is_dask_frame(X) else X.rechunk({1: -1})
    return X.map_blocks(function, dtype=float, chunks=(X.chunks[0], (n_columns,)))


def _columns_of(block: Any, columns: Any) -> Any:
    return block[:, columns]


def mixed_frame(X: Any) -> Any:
    """A data frame that holds more than numbers; None for anything else."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    # Only a frame of pandas with nothing but sparse columns, which are numbers, has this attribute.
    is_plain = hasattr(X, "sparse") or all(
        kind.is_numeric() or kind == nw.Boolean for kind in frame.schema.values()
    )
    if is_plain and not frame.implementation.is_pyarrow():
        return None
    if all(isinstance(name, str) for name in frame.columns):
        return frame
    return nw.from_native(X.set_axis([str(name) for name in X.columns], axis=1), eager_only=True)
