"""Bytes at addresses, for kernels: load one, store one, copy many.

Buffers reach a kernel as addresses and sizes, so that hundreds of batches need no array object each and are
read where they lie. Nothing here checks anything: whoever calls has compared with the end of the buffer
before, and whoever calls the kernel keeps the buffers alive.

`copy` becomes LLVM's memcpy. A loop over bytes takes twice as long at 100 bytes and up to five times at 1
KiB.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)


def _at(builder: Any, address: Any) -> Any:  # noqa: ANN401  # numba and llvmlite have no types
    return builder.inttoptr(address, _BYTE.as_pointer())


def _load(_typing: object, _address: object) -> tuple[Any, Callable[..., Any]]:
    def generate(_context: object, builder: Any, _signature: object, arguments: Any) -> Any:  # noqa: ANN401
        return builder.zext(builder.load(_at(builder, arguments[0])), _WORD)

    return types.int64(types.int64), generate


def _load_int(bits: int) -> Callable[..., Any]:
    """Make the load of a number from an array of them, by the array's address and the number's place."""
    number = ir.IntType(bits)

    def load_int(_typing: object, _address: object, _place: object) -> tuple[Any, Callable[..., Any]]:
        def generate(_context: object, builder: Any, _signature: object, arguments: Any) -> Any:  # noqa: ANN401
            array = builder.inttoptr(arguments[0], number.as_pointer())
            found = builder.load(builder.gep(array, [arguments[1]]))
            return found if bits == _WORD.width else builder.sext(found, _WORD)

        return types.int64(types.int64, types.int64), generate

    return load_int


def _store(_typing: object, _address: object, _byte: object) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, _signature: object, arguments: Any) -> Any:  # noqa: ANN401
        builder.store(builder.trunc(arguments[1], _BYTE), _at(builder, arguments[0]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _store_int(bits: int) -> Callable[..., Any]:
    """Make the inverse of `_load_int`."""
    number = ir.IntType(bits)

    def store_int(
        _typing: object, _address: object, _place: object, _number: object
    ) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, _signature: object, arguments: Any) -> Any:  # noqa: ANN401
            array = builder.inttoptr(arguments[0], number.as_pointer())
            value = arguments[2] if bits == _WORD.width else builder.trunc(arguments[2], number)
            builder.store(value, builder.gep(array, [arguments[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return store_int


def _copy(_typing: object, _to: object, _start: object, _size: object) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, _signature: object, arguments: Any) -> Any:  # noqa: ANN401
        to, start, size = arguments
        cgutils.raw_memcpy(builder, _at(builder, to), _at(builder, start), size, 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


load = cast("Callable[[int], int]", intrinsic(_load))
"""The byte at an address."""
load_int32 = cast("Callable[[int, int], int]", intrinsic(_load_int(32)))
"""The signed number at a place of the array at an address."""
load_int64 = cast("Callable[[int, int], int]", intrinsic(_load_int(64)))
"""Likewise."""
store = cast("Callable[[int, int], None]", intrinsic(_store))
"""Put a byte, the lowest of a number, at an address."""
store_int32 = cast("Callable[[int, int, int], None]", intrinsic(_store_int(32)))
"""Put a signed number at a place of the array at an address."""
store_int64 = cast("Callable[[int, int, int], None]", intrinsic(_store_int(64)))
"""Likewise."""
copy = cast("Callable[[int, int, int], None]", intrinsic(_copy))
"""Copy to an address, from an address, so many bytes. They do not overlap."""
