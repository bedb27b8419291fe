"""Escapes that people write in options, because a shell makes it hard to type a tab."""

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|.?)", re.DOTALL)
_MEANING: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def unescaped(text: str) -> bytes:
    r"""Return the bytes that a text with \n, \t, \r, \0, \\ and \xHH stands for; `ValueError` for others."""
    out = bytearray()
    done = 0
    for found in _ESCAPE.finditer(text):
        out += text[done : found.start()].encode()
        out += _meaning(found.group(1))
        done = found.end()
    return bytes(out + text[done:].encode())


def _meaning(escape: str) -> bytes:
    if len(escape) == 3:
        return bytes.fromhex(escape[1:])
    if escape not in _MEANING:
        raise ValueError(rf"\{escape} is no escape; there are \n, \t, \r, \0, \\ and \xHH")
    return _MEANING[escape]
