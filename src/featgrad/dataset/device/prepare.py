"""From a validated matrix, target and weights to a home of rows on a device."""

from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import sparse

from featgrad._support.types import Indices
from featgrad.checks import PREPROCESS, check_option, check_weights, refuse_infinite, refuse_missing
from featgrad.columns.sums import ColumnSums
from featgrad.dataset.device.home import OnDevice
from featgrad.dataset.device.matrix import DenseMatrix, hashes_of, mixed
from featgrad.dataset.device.sparse_matrix import SparseMatrix
from featgrad.dataset.prepare import Preparation, usable_filters
from featgrad.dataset.rows import are_copies, hash_dense, random_keys
from featgrad.math.targets import centre, encode
from featgrad.math.tasks import RowsOf
from featgrad.moments.device_arrays import Tensor, as_tensor, sent
from featgrad.plan import COPY_ROWS, fits_on_device


def on_device(
    X: Any, y: Any, sample_weight: Any, device: str | None, preparation: Preparation
) -> OnDevice:
    """Rows on the device that is named, or on that of X."""
    check_option("preprocess", preparation.preprocess, PREPROCESS)
    matrix = _matrix(X, as_tensor(X).device if device is None else named_device(device))
    weights = check_weights(sample_weight, X.shape[0])
    roles, own = preparation.belonging.roles(y, X.shape[0]), partial(_rows_on_host, matrix)
    raw, task = encode(y, preparation.task, RowsOf(own, np.flatnonzero(weights), roles.groups))
    target = centre(raw, task, weights)
    keys, output_keys = (random_keys(preparation.rng, size) for size in (X.shape[1], raw.shape[1]))
    there = sent(weights, matrix.device)
    reading = FirstReading(matrix, there, sent(keys.view(np.int64), matrix.device))
    has_missing = reading.has_missing(preparation.missing)
    of_outputs = hash_dense(raw, output_keys).view(np.int64)
    hashes = reading.hashes + sent(of_outputs, matrix.device)
    rows, merged = distinct_rows(matrix, hashes, there, roles.labels)
    layout = roles.layout(rows.cpu().numpy(), preparation.n_folds, preparation.order)
    filters = usable_filters(preparation, len(rows))
    options = preparation.preprocess, layout
    return OnDevice(matrix, rows, merged, has_missing, target, filters, *options)


def _rows_on_host(matrix: Any, rows: Indices) -> Any:
    return matrix.rows_on_host(sent(rows, matrix.device))


def named_device(name: str) -> Any:
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


class FirstReading:
    """Hashes of the rows, by keys of the columns, and what is not a number."""

    def __init__(self, matrix: Any, weights: Tensor, keys: Tensor) -> None:
        hashes, self._columns = [], ColumnSums(matrix.shape[1], 1, like=weights, missing=True)
        for (start, stop), block in zip(matrix.spans, matrix.blocks(), strict=True):
            hashes.append(hashes_of(block, keys))
            self._columns.add(block, 0.0, weights[start:stop, None])
        self.hashes = torch.cat(hashes)

    def has_missing(self, missing: str) -> bool:
        """Whether anything is missing; refuses what may not be."""
        if not bool(torch.isfinite(self._columns.linear).all()):
            refuse_infinite()
        is_missing = bool(self._columns.n_missing[0])
        if is_missing and missing == "error":
            refuse_missing()
        return is_missing


def distinct_rows(
    matrix: Any, hashes: Tensor, weights: Tensor, labels: Indices | None = None
) -> tuple[Tensor, Tensor]:
    """As `featgrad.dataset.rows.distinct_rows`, where the rows are."""
    rows = torch.nonzero(weights)[:, 0]
    own = torch.zeros_like(rows) if labels is None else sent(labels, rows.device)[rows]
    rows = rows[torch.sort(own, stable=True).indices]
    # Signed numbers in the order of unsigned ones, which is that on the host.
    order = torch.sort(mixed(mixed(hashes[rows])) ^ torch.iinfo(torch.int64).min, stable=True)
    rows, hashes = rows[order.indices], order.values
    is_new = torch.ones_like(hashes, dtype=torch.bool)
    is_new[1:] = hashes[1:] != hashes[:-1]
    if bool(is_new.all()) or not _are_copies(matrix, rows[is_new]):
        return rows, weights[rows]
    if labels is not None:
        own = sent(labels, rows.device)[rows]
        is_new[1:] |= own[1:] != own[:-1]
    merged = torch.zeros(int(is_new.sum()), dtype=weights.dtype, device=weights.device)
    return rows[is_new], merged.index_add_(0, torch.cumsum(is_new, 0) - 1, weights[rows])


def _are_copies(matrix: Any, distinct: Tensor) -> bool:
    some = matrix.rows_on_host(distinct[:COPY_ROWS])
    return are_copies(some, np.arange(some.shape[0]))
