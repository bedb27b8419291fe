"""How kernels are compiled, and the one place that says what is missing when they cannot be.

A kernel is machine code made by numba from a Python function over numbers and arrays. The first call in a
process costs half a second from the cache on disk, and some seconds without. numba picks the directory: the
one that NUMBA_CACHE_DIR names, else `__pycache__` beside the source, else the user's cache directory. Where
none can be written, kernels are compiled anew in every process. The cache is per processor type.

Wart: numba compiles anew when the file of the kernel itself has changed, not when one has that it calls
into. So the kernels of a direction share one file with all they call, except `memory`: whoever changes that
one runs `make clean`.

Kernels let go of the interpreter lock: a broker encodes in a thread while its event loop goes on.
"""

from collections.abc import Callable
from typing import TypeVar, cast

try:
    import numba
    import numpy as np  # noqa: F401  # so that its absence is told here
    import pyarrow as pa  # noqa: F401  # likewise
except ImportError as error:
    raise ImportError(
        f"dray.records.columns needs numba, numpy and pyarrow ({error}): pip install 'dray[tables]'"
    ) from error

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile at the first call, or take it from the cache."""
    try:
        kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no directory that it may write to
        kernel = numba.njit(nogil=True)(function)
    return cast("Function", kernel)
