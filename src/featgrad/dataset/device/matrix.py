"""A dense matrix whose blocks of rows are visited on a device.

Sums within a block are in single precision, over blocks in double.

It is kept there whole, or stays on the host and is sent block by block: while one block is worked
on, the next is copied into page-locked memory and from there to the device.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from featgrad._support.types import Span
from featgrad.moments.device_arrays import Tensor, as_tensor

# Entries of a block that is there, and of one that is sent.
_BLOCK_ENTRIES = 1 << 26
_SENT_ENTRIES = 1 << 25
# Of the hash that orders rows (see `featgrad.dataset.rows`).
_MIX = 0x9E3779B97F4A7C15 - (1 << 64)
_LOW = (1 << 32) - 1


class DenseMatrix:
    """A matrix, and the device on which its blocks are visited."""

    def __init__(self, X: Any, device: Any, is_resident: bool) -> None:
        self.device, self.shape, self._X = device, tuple(X.shape), as_tensor(X)
        self._is_resident = is_resident
        if is_resident and self._X.device != device:
            there = torch.empty(self.shape, dtype=self._X.dtype, device=device)
            for (start, stop), block in zip(self._spans(_SENT_ENTRIES), self._sent(), strict=True):
                there[start:stop] = block
            self._X = there
        self.spans = self._spans(_BLOCK_ENTRIES if is_resident else _SENT_ENTRIES)

    def blocks(self) -> Iterator[Tensor]:
        """The rows of each span."""
        if self._is_resident:
            return (self._X[start:stop] for start, stop in self.spans)
        return self._sent()

    def resident(self) -> Tensor:
        """The whole matrix on the device."""
        if not self._is_resident:
            raise ValueError(
                f"X is too large for the memory of device={str(self.device)!r}, where a search by "
                "penalty needs it whole: give n_features_to_select, or leave device=None."
            )
        return self._X

    def rows(self, indices: Tensor, columns: Tensor) -> Tensor:
        """Some columns of some rows, on the device."""
        here = self._X.device
        return self._X[indices.to(here)][:, columns.to(here)].to(self.device)

    def rows_on_host(self, indices: Tensor) -> Any:
        return self._X[indices.to(self._X.device)].cpu().numpy()

    def _spans(self, entries: int) -> list[Span]:
        n_rows, n_columns = self.shape
        step = max(1, entries // n_columns)
        return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]

    def _sent(self) -> Iterator[Tensor]:
        """Blocks by way of two page-locked buffers and two on the device, which take turns."""
        spans = self._spans(_SENT_ENTRIES)
        if self.device.type != "cuda":
            yield from (self._X[start:stop].to(self.device) for start, stop in spans)
            return
        shape = spans[0][1], self.shape[1]
        waiting = [torch.empty(shape, dtype=self._X.dtype, pin_memory=True) for _ in range(2)]
        there = [torch.empty(shape, dtype=self._X.dtype, device=self.device) for _ in range(2)]
        has_left, is_free = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
        stream, current = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        stream.wait_stream(current)

        def send(i: int) -> None:
            turn, (start, stop) = i % 2, spans[i]
            has_left[turn].synchronize()
            waiting[turn][: stop - start].copy_(self._X[start:stop])
            with torch.cuda.stream(stream):
                stream.wait_event(is_free[turn])
                there[turn][: stop - start].copy_(waiting[turn][: stop - start], non_blocking=True)
                has_left[turn].record(stream)

        # The next block is on its way while the one before is being worked on.
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(send, 0)
            for i, (start, stop) in enumerate(spans):
                coming.result()
                current.wait_event(has_left[i % 2])
                if i + 1 < len(spans):
                    coming = pool.submit(send, i + 1)
                yield there[i % 2][: stop - start]
                is_free[i % 2].record(current)


def hashes_of(block: Any, keys: Tensor) -> Tensor:
    """Of rows: sums of mixed bits times the keys of their columns (see `featgrad.dataset.rows`)."""
    return (bits(block) * keys).sum(1) if isinstance(block, torch.Tensor) else block.hashes(keys)


def mixed(bits: Tensor) -> Tensor:
    """As NumPy mixes unsigned numbers; the shift of signed ones is made to bring in zeros."""
    product = bits * _MIX
    product ^= (product >> 32) & _LOW
    product *= _MIX
    return product


def bits(values: Any) -> Tensor:
    """Bits of the values as doubles, mixed; 0 stays 0, and -0 is 0."""
    return mixed((values.double() + 0.0).view(torch.int64))
