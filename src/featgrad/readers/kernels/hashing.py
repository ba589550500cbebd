"""Hashes of tokens and validation of UTF-8."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
import numpy as np

from featgrad.readers.kernels.scan import compiled


@compiled
def _rotated(x, by):
    return np.uint32((x << np.uint32(by)) | (x >> np.uint32(32 - by)))


@compiled
def murmur(data, start, stop, seed):
    """MurmurHash3, 32 bits, of ``data[start:stop]``: scikit-learn's `murmurhash3_32`."""
    start, stop = np.int64(start), np.int64(stop)
    c1, c2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
    h, whole = np.uint32(seed), start + (stop - start) // 4 * 4
    for i in range(start, whole, 4):
        k = np.uint32(
            np.uint32(data[i])
            | np.uint32(data[i + 1]) << np.uint32(8)
            | np.uint32(data[i + 2]) << np.uint32(16)
            | np.uint32(data[i + 3]) << np.uint32(24)
        )
        h ^= np.uint32(_rotated(np.uint32(k * c1), 15) * c2)
        h = np.uint32(_rotated(h, 13) * np.uint32(5) + np.uint32(0xE6546B64))
    k = np.uint32(0)
    for i in range(whole, stop):
        k |= np.uint32(data[i]) << np.uint32(8 * (i - whole))
    if stop > whole:
        h ^= np.uint32(_rotated(np.uint32(k * c1), 15) * c2)
    h ^= np.uint32(stop - start)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@compiled
def hashes(data, starts, ends, seed):
    """The hash of each token."""
    found = np.empty(len(starts), np.uint32)
    for row in range(len(found)):
        found[row] = murmur(data, starts[row], ends[row], seed)
    return found


@compiled
def is_utf8(data, start, stop):
    """Whether ``data[start:stop]`` is valid UTF-8: not truncated, overlong or a surrogate."""
    i, stop = np.int64(start), np.int64(stop)
    while i < stop:
        lead = data[i]
        i += 1
        if lead < 0x80:
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        low = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
        high = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
        for _ in range(more):
            if i >= stop or not (low <= data[i] <= high):
                return False
            low, high = 0x80, 0xBF
            i += 1
    return True


@compiled
def check_utf8(data, starts, ends, valid):
    """Clear `valid` where a token is not UTF-8."""
    for row in range(len(valid)):
        valid[row] &= is_utf8(data, starts[row], ends[row])
