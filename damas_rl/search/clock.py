"""The monotonic clock of the system, for kernels."""

import time
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def nanoseconds(typing_context: Any) -> Any:
    """Nanoseconds (int64) of the clock that ``time.monotonic_ns`` reads."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, number, pointer = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
        moment = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(number, [number, pointer]), "clock_gettime"
        )
        builder.call(function, [number(time.CLOCK_MONOTONIC), builder.bitcast(moment, pointer)])
        seconds, rest = (builder.extract_value(builder.load(moment), part) for part in (0, 1))
        return builder.add(builder.mul(seconds, word(1_000_000_000)), rest)

    return types.int64(), generate
