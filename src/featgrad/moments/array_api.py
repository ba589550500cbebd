"""Differences between array libraries: namespace, device, copy to NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def namespace(X: Any) -> Any:
    """The array-API namespace of X; only arrays other than NumPy's need array-api-compat."""
    if isinstance(X, np.ndarray):
        return np
    from array_api_compat import array_namespace

    return array_namespace(X)


def on_cpu(X: Any) -> bool:
    return "cpu" in str(X.device).lower()


def to_numpy(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "cpu"):  # torch copies from a device only explicitly
        values = values.cpu()
    return np.asarray(values)
