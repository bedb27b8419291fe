"""Compilation of the functions that encode and decode one version of a message, on first use.

It takes about a millisecond for each. Generated for every version, they would be some 60,000 lines of source.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

from typing_extensions import Buffer

from dray.wire.api import Message
from dray.wire.decode_source import decode_source
from dray.wire.encode_source import encode_source
from dray.wire.error_location import located_decode_error, located_encode_error
from dray.wire.schema import struct_schema
from dray.wire.source import Source

# (bytes, position) -> (message, position after it)
Decode: TypeAlias = Callable[[memoryview, int], tuple[Any, int]]
# (message, buffer to append to) -> buffers
Encode: TypeAlias = Callable[[Message, bytearray], list[Buffer]]


@cache
def decoder(message: type[Message], version: int, *, flexible: bool) -> Decode:
    """Return the function that decodes `message` in `version`."""
    source = decode_source(struct_schema(message, version, flexible=flexible))
    title = f"{message.__name__} v{version}"
    source.use("located", partial(located_decode_error, title, source.paths))
    function: Decode = _run(source, "decode", title)
    return function


@cache
def encoder(message: type[Message], version: int, *, flexible: bool, strict: bool = True) -> Encode:
    """Return the function that encodes `message` in `version`.

    Unless `strict`, fields that the version lacks are omitted.
    """
    source = encode_source(struct_schema(message, version, flexible=flexible), strict=strict)
    title = f"{message.__name__} v{version}"
    source.use("located", partial(located_encode_error, title, source.paths))
    function: Encode = _run(source, "encode", title)
    return function


def _run(source: Source, name: str, title: str) -> Any:  # noqa: ANN401 - what `exec` makes has no type
    code = compile(source.text(), f"<{name} {title}>", "exec")
    exec(code, source.names)  # noqa: S102 - our own text, made from our own classes
    return source.names[name]
