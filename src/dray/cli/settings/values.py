"""From the text of a source to the value of a setting.

Every source gives text: a YAML scalar as it is written, a variable, a flag. So `zone: no` is a zone called
"no", and a size means the same wherever it stands. `None` is YAML's null or an empty variable, and is good
only where a setting may be left unset.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dray.cli.settings import quantities
from dray.cli.settings.problems import quoted
from dray.cli.settings.schema import Field, Kind
from dray.cli.settings.secret import MASK, Secret

ReadSecret = Callable[[str], str]
"""Reads the file a secret refers to; `OSError` or `ValueError` when it cannot."""

_WHOLE: Final = re.compile(r"-?[0-9][0-9_]{0,29}")
_REFERENCE: Final = "file:"


class WrongValue(Exception):
    """The text is not a value of this setting; the message says what is wrong and never shows a secret."""


def value_of(field: Field, text: str | None, read_secret: ReadSecret) -> object:
    """Return the value that `text` stands for, or raise `WrongValue`."""
    if text is None:
        _check_unset(field)
        return None
    if field.kind == "secret":
        return _secret(text, read_secret)
    try:
        value = _READERS[field.kind](field, text)
        return msgspec.convert(value, field.annotation)
    except ValueError:
        raise WrongValue(f"{quoted(text)} is not allowed; expected {field.allowed}") from None


def _check_unset(field: Field) -> None:
    if not field.optional:
        raise WrongValue(f"it is empty; expected {field.allowed}")


def _secret(text: str, read_secret: ReadSecret) -> Secret:
    if text.startswith(_REFERENCE):
        return _referred(text.removeprefix(_REFERENCE), read_secret)
    return _plain_secret(text, "it")


def _referred(path: str, read_secret: ReadSecret) -> Secret:
    try:
        text = read_secret(path)
    except OSError as error:
        raise WrongValue(
            f"the file it refers to, {quoted(path)}, cannot be read: {error.strerror or error}"
        ) from None
    except ValueError:
        raise WrongValue(f"the file it refers to, {quoted(path)}, does not hold text") from None
    return _plain_secret(
        text.removesuffix("\n").removesuffix("\r"), f"the file it refers to, {quoted(path)},"
    )


def _plain_secret(text: str, what: str) -> Secret:
    if text == MASK:
        raise WrongValue(f"{what} holds {MASK}, which only stands for a secret; give the secret itself")
    if not text or not text.isprintable():
        raise WrongValue(f"{what} is empty or holds unprintable characters")
    return Secret(text)


def _text(_: Field, text: str) -> object:
    if not text or not text.isprintable():
        raise ValueError(text)
    return text


def _whole(_: Field, text: str) -> object:
    if not _WHOLE.fullmatch(text):
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


def _switch(_: Field, text: str) -> object:
    if text.lower() not in {"true", "false"}:
        raise ValueError(text)
    return text.lower() == "true"


_READERS: Final[Mapping[Kind, Callable[[Field, str], object]]] = {
    "text": _text,
    "choice": _text,
    "whole number": _whole,
    "number": _number,
    "size": _quantity,
    "duration": _quantity,
    "switch": _switch,
}
