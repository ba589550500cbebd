"""The cache: memory that begins with one of its lines, and the prefetch instruction.

Numba does not offer the latter.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

_LINE_BYTES = 64
_TO_READ, _KEEP_IN_EVERY_CACHE, _DATA = 0, 3, 1


def aligned(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros that begin with a line of the cache, so that records span as few as possible."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + _LINE_BYTES, np.uint8)
    start = -room.ctypes.data % _LINE_BYTES
    return np.asarray(room[start : start + size].view(dtype).reshape(shape))


@intrinsic
def prefetch(typing_context, array, i, j):
    """Prefetch the cache line where ``array[i, j]`` begins."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        fields = context.make_array(kind)(context, builder, arguments[0])
        element = cgutils.get_item_pointer(context, builder, kind, fields, arguments[1:])
        address = builder.bitcast(element, cgutils.voidptr_t)
        int32 = cgutils.int32_t
        takes = ir.FunctionType(ir.VoidType(), [address.type, int32, int32, int32])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], takes)
        options = [int32(option) for option in (_TO_READ, _KEEP_IN_EVERY_CACHE, _DATA)]
        builder.call(hint, [address, *options])
        return context.get_dummy_value()

    return types.void(array, i, j), generate
