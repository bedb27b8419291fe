"""Conversion of a source's text to the value of a setting.

Every source provides text: a YAML scalar as written, a variable, a flag. So `zone: no` is a zone called "no",
and a size means the same in every source. `None` is YAML's null or an empty variable, which only an optional
setting accepts.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dray.settings import quantities
from dray.settings.problems import quoted
from dray.settings.schema import Field, Kind
from dray.settings.secret import MASK, Secret

ReadSecret = Callable[[str], str]
"""Reads the file that a secret refers to; raises `OSError` or `ValueError`."""

_INTEGER: Final = re.compile(r"-?[0-9][0-9_]{0,29}")
REFERENCE: Final = "file:"
"""In place of a secret: the rest is the path of the file that it is in."""


class InvalidValue(Exception):
    """The text is not a value of this setting. The message never contains a secret."""


def value_of(field: Field, text: str | None, read_secret: ReadSecret) -> object:
    """Return the value that `text` denotes, or raise `InvalidValue`."""
    if text is None:
        _check_unset(field)
        return None
    if field.kind == "secret":
        return _secret(text, read_secret)
    try:
        value = _READERS[field.kind](field, text)
        _check_largest(field, value)
        return msgspec.convert(value, field.annotation)
    except ValueError:
        raise InvalidValue(f"{quoted(text)} is not allowed; expected {field.allowed}") from None


def _check_unset(field: Field) -> None:
    if not field.optional:
        raise InvalidValue(f"it is empty; expected {field.allowed}")


def _check_largest(field: Field, value: object) -> None:
    if field.largest is not None and isinstance(value, int) and value > field.largest:
        raise ValueError(value)


def _secret(text: str, read_secret: ReadSecret) -> Secret:
    if text.startswith(REFERENCE):
        return _referred(text.removeprefix(REFERENCE), read_secret)
    return _plain_secret(text, "it")


def _referred(path: str, read_secret: ReadSecret) -> Secret:
    try:
        text = read_secret(path)
    except OSError as error:
        raise InvalidValue(
            f"cannot read the file that it refers to, {quoted(path)}: {error.strerror or error}"
        ) from None
    except ValueError:
        raise InvalidValue(f"the file that it refers to, {quoted(path)}, is not text") from None
    return _plain_secret(
        text.removesuffix("\n").removesuffix("\r"), f"the file that it refers to, {quoted(path)},"
    )


def _plain_secret(text: str, what: str) -> Secret:
    if text == MASK:
        raise InvalidValue(f"{what} is {MASK}, the mask of a printed secret; set the secret itself")
    if not text or not text.isprintable():
        raise InvalidValue(f"{what} is empty or contains unprintable characters")
    return Secret(text)


def _text(_: Field, text: str) -> object:
    if not text or not text.isprintable():
        raise ValueError(text)
    return text


def _integer(_: Field, text: str) -> object:
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _number(_: Field, text: str) -> object:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _quantity(field: Field, text: str) -> object:
    unit = quantities.unit_of(field.key)
    assert unit is not None
    return quantities.read(text, unit)


def _boolean(_: Field, text: str) -> object:
    if text.lower() not in {"true", "false"}:
        raise ValueError(text)
    return text.lower() == "true"


_READERS: Final[Mapping[Kind, Callable[[Field, str], object]]] = {
    "text": _text,
    "choice": _text,
    "integer": _integer,
    "number": _number,
    "size": _quantity,
    "duration": _quantity,
    "boolean": _boolean,
}
