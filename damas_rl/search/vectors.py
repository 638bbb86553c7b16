"""Vectors of 16 float32 numbers in kernels, which LLVM maps to the registers of the machine.

Loops over small arrays stay scalar, since LLVM cannot know that the arrays do not overlap. No operation depends on the
width of the machine's registers, so results are the same everywhere.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 16
"""Numbers of a vector."""

_IR = ir.VectorType(ir.FloatType(), LANES)


class _VectorType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Vector16")


_VECTOR = _VectorType()


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, front_end: Any) -> None:
        super().__init__(manager, front_end, _IR)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where ``array`` (contiguous float32) holds the vector that begins with element ``start``."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), _IR.as_pointer())


@intrinsic
def load(typing_context: Any, array: Any, start: Any) -> Any:
    """The vector at element ``start`` (int64) of a contiguous float32 array, counted over all its dimensions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, arguments), align=4)

    return _VECTOR(array, types.int64), generate


@intrinsic
def store(typing_context: Any, array: Any, start: Any, vector: Any) -> Any:
    """Writes a vector to where :func:`load` finds it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature, arguments), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, _VECTOR), generate


def _splat(builder: Any, number: Any) -> Any:
    first = builder.insert_element(ir.Constant(_IR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), None))


@intrinsic
def plus(typing_context: Any, one: Any, other: Any) -> Any:
    """The sum of two vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return _VECTOR(_VECTOR, _VECTOR), generate


@intrinsic
def times(typing_context: Any, vector: Any, number: Any) -> Any:
    """A vector times a float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(arguments[0], _splat(builder, arguments[1]))

    return _VECTOR(_VECTOR, types.float32), generate


@intrinsic
def clip(typing_context: Any, vector: Any) -> Any:
    """A vector with each number brought into [0, 1]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lowest, highest = (ir.Constant(_IR, [limit] * LANES) for limit in (0.0, 1.0))
        result = builder.select(builder.fcmp_ordered(">", arguments[0], lowest), arguments[0], lowest)
        return builder.select(builder.fcmp_ordered("<", result, highest), result, highest)

    return _VECTOR(_VECTOR), generate


@intrinsic
def dot(typing_context: Any, one: Any, other: Any) -> Any:
    """The scalar product of two vectors (float32), its terms added in halves."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        result, lanes = builder.fmul(*arguments), LANES
        while lanes > 1:
            lanes //= 2
            low, high = (_lanes(range(first, first + lanes)) for first in (0, lanes))
            result = builder.fadd(*(builder.shuffle_vector(result, result, part) for part in (low, high)))
        return builder.extract_element(result, ir.Constant(ir.IntType(32), 0))

    return types.float32(_VECTOR, _VECTOR), generate


def _lanes(numbers: range) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), list(numbers))
