"""The prefetch instruction, which numba does not offer."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_TO_READ, _KEEP_IN_EVERY_CACHE, _DATA = 0, 3, 1


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
