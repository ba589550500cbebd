"""From a validated matrix, target and weights to a home of rows on a device."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy import sparse

from featgrad.checks import PREPROCESS, check_option, check_weights
from featgrad.dataset.device.first_reading import FirstReading
from featgrad.dataset.device.home import OnDevice
from featgrad.dataset.device.matrix import DenseMatrix
from featgrad.dataset.device.order import distinct_rows
from featgrad.dataset.device.sparse_matrix import SparseMatrix
from featgrad.dataset.prepare import usable_order
from featgrad.dataset.rows import hash_dense, random_keys
from featgrad.math.filters import up_to
from featgrad.math.targets import centre, encode
from featgrad.moments.device_arrays import as_tensor, sent
from featgrad.plan import fits_on_device, folds_of


def on_device(
    X: Any,
    y: Any,
    device: str | None,
    *,
    order: int,
    filter: str | ArrayLike,
    task: str,
    preprocess: str,
    missing: str,
    sample_weight: Any,
    rng: np.random.RandomState,
) -> OnDevice:
    """Rows on the device that is named, or on that of X."""
    check_option("preprocess", preprocess, PREPROCESS)
    matrix = _matrix(X, as_tensor(X).device if device is None else named_device(device))
    weights = check_weights(sample_weight, X.shape[0])
    raw, task = encode(y, task)
    target = centre(raw, task, weights)
    keys, output_keys = (random_keys(rng, size) for size in (X.shape[1], raw.shape[1]))
    there = sent(weights, matrix.device)
    reading = FirstReading(matrix, there, sent(keys.view(np.int64), matrix.device))
    fill = reading.means(missing)
    of_outputs = hash_dense(raw, output_keys).view(np.int64)
    rows, merged = distinct_rows(matrix, reading.hashes + sent(of_outputs, matrix.device), there)
    filters = up_to(filter, usable_order(order, filter, len(rows)))
    return OnDevice(matrix, rows, merged, fill, target, filters, preprocess, folds_of(order))


def named_device(name: str) -> Any:
    """A device of torch."""
    try:
        # With its number, where the name has none.
        device = torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device={name!r} cannot be used: torch says {reason!r}.") from None
    return device


def _matrix(X: Any, device: Any) -> DenseMatrix | SparseMatrix:
    """Kept on the device where it is sparse or there is room, else sent there block by block."""
    if sparse.issparse(X):
        return SparseMatrix(X, device)
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    is_there = as_tensor(X).device == device and device.type != "cpu"
    return DenseMatrix(X, device, is_there or fits_on_device(n_bytes, free_bytes(device)))


def free_bytes(device: Any) -> float:
    """Memory that is free on a device; that of the host has no limit here."""
    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else np.inf
