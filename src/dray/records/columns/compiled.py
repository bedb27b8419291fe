"""Compilation of kernels by numba, and their access to memory by address.

A kernel is machine code that numba makes from a Python function over numbers and arrays. The first call in a
process takes half a second from the cache on disk, and some seconds without. numba picks the directory: the
one that NUMBA_CACHE_DIR names, else `__pycache__` beside the source, else the user's cache directory. Where
none can be written, every process compiles again. The cache is per processor type.

Wart: numba compiles again when the file of the kernel itself has changed, not when one has that it calls
into. So the kernels of a direction share one file with all they call, except this one: after a change here,
run `make clean`.

Kernels release the interpreter lock: a broker encodes in a thread while its event loop runs.

Buffers reach a kernel as addresses and sizes, so that hundreds of batches need no array object each and are
read where they are. Nothing here checks anything: a kernel compares with the end of the buffer before it
reads, and its caller keeps the buffers alive. `copy` becomes LLVM's memcpy; a loop over bytes takes twice as
long at 100 bytes and up to five times at 1 KiB.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

try:
    import numba
    import numpy as np  # noqa: F401  # so that a missing one is reported here
    import pyarrow as pa  # noqa: F401  # likewise
except ImportError as error:
    raise ImportError(
        f"dray.records.columns needs numba, numpy and pyarrow ({error}): pip install 'dray[tables]'"
    ) from error
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile the function at its first call, or load it from the cache."""
    try:
        kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no directory that it may write to
        kernel = numba.njit(nogil=True)(function)
    return cast("Function", kernel)


_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)


def _at(builder: Any, address: Any) -> Any:  # noqa: ANN401  # numba and llvmlite have no types
    return builder.inttoptr(address, _BYTE.as_pointer())


def _load(_typing: object, _address: object) -> tuple[Any, Callable[..., Any]]:
    def generate(_context: object, builder: Any, _signature: object, arguments: Any) -> Any:  # noqa: ANN401
        return builder.zext(builder.load(_at(builder, arguments[0])), _WORD)

    return types.int64(types.int64), generate


def _load_int(bits: int) -> Callable[..., Any]:
    """Make an intrinsic that loads a number from an array, by the array's address and an index."""
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
"""The signed number at an index of the array at an address."""
load_int64 = cast("Callable[[int, int], int]", intrinsic(_load_int(64)))
"""Likewise."""
store = cast("Callable[[int, int], None]", intrinsic(_store))
"""Store the lowest byte of a number at an address."""
store_int32 = cast("Callable[[int, int, int], None]", intrinsic(_store_int(32)))
"""Store a signed number at an index of the array at an address."""
store_int64 = cast("Callable[[int, int, int], None]", intrinsic(_store_int(64)))
"""Likewise."""
copy = cast("Callable[[int, int, int], None]", intrinsic(_copy))
"""Copy bytes: to an address, from an address, and how many. The ranges must not overlap."""
