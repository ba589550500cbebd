"""Arrays of any library as torch tensors on a device."""

import gc
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from featgrad._support.array_api import is_foreign

Tensor = Any  # torch.Tensor, which type checkers need not know


def as_tensor(X: Any) -> Tensor:
    """An array as a tensor of the same memory, where torch can have it."""
    if is_foreign(X):
        return X if isinstance(X, torch.Tensor) else torch.from_dlpack(X)
    with warnings.catch_warnings():
        # Nothing is written to it.
        warnings.filterwarnings("ignore", "The given NumPy array is not writ")
        return torch.from_numpy(X.copy() if min(X.strides) < 0 else X)


def sent(values: NDArray[Any], device: Any, dtype: Any = None) -> Tensor:
    """A copy on the device."""
    return as_tensor(np.ascontiguousarray(values)).to(device=device, dtype=dtype, copy=True)


def sent_together(parts: Sequence[NDArray[Any]], like: Tensor) -> list[Tensor]:
    """Copies on the device and of the type of a tensor, by way of one."""
    flat = torch.from_numpy(np.concatenate([np.ravel(part) for part in parts]).astype(np.float64))
    there = flat.to(like.dtype).to(like.device)
    pieces = torch.split(there, [part.size for part in parts])
    return [piece.reshape(part.shape) for piece, part in zip(pieces, parts, strict=True)]


def fetched(values: Tensor) -> NDArray[np.float64]:
    """A copy on the host in double precision."""
    return np.asarray(values.double().cpu().numpy())


def captured(run: Callable[[], None], device: Any) -> Callable[[], None]:
    """All operations of a function as one graph, which is launched at once; runs it once."""
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
    replay: Callable[[], None] = graph.replay
    return replay
