"""Kinds of config values: how their text is parsed, and the errors for invalid text.

The rules and error messages are Kafka's, because its tools print them. A kind parses text into a value;
`as_text` formats a value as Kafka does (`" TRUE"` becomes `true`, `"a , b"` becomes `a,b`).

Warts: numbers are plain decimals, where Java also accepts digits of other scripts, hexadecimal and NaN. A
fraction below 0.001 is formatted as 0.0001, where Java prints 1.0E-4.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1

Value = bool | int | float | str | tuple[str, ...]
Parse = Callable[[str, str], Value]
"""Parses the text of a config, given its name; raises `InvalidConfig`."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_COMMA = re.compile(r"\s*,\s*")
_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")
_TRIMMED = "".join(map(chr, range(0x21)))
"""The characters that Java's `trim` removes."""


class ConfigType(IntEnum):
    """Config types, by their number in DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


class InvalidConfig(Exception):
    """Kafka does not accept this name or value; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """The type of a config, and the parser of its values."""

    type: ConfigType
    parse: Parse


def as_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def int_from(low: int, high: int | None = None) -> ValueKind:
    return ValueKind(ConfigType.INT, _whole(ConfigType.INT, INT_MAX, low, high))


def long_from(low: int) -> ValueKind:
    return ValueKind(ConfigType.LONG, _whole(ConfigType.LONG, LONG_MAX, low, None))


def level(low: int, high: int, default: int) -> ValueKind:
    """Return the kind of a compression level: a range, plus one number that means the codec's default."""
    read = _whole(ConfigType.INT, INT_MAX, None, None)

    def parse(name: str, text: str) -> Value:
        value = read(name, text)
        if value != default and not (isinstance(value, int) and low <= value <= high):
            raise _refused(name, value, f"Value must be between {low} and {high} or equal to {default}")
        return value

    return ValueKind(ConfigType.INT, parse)


def fraction() -> ValueKind:
    def parse(name: str, text: str) -> Value:
        trimmed = _trim(text)
        if not _DECIMAL.fullmatch(trimmed):
            raise _refused(name, text, "Not a number of type DOUBLE")
        value = float(trimmed)
        if value < 0:
            raise _refused(name, value, "Value must be at least 0")
        if value > 1:
            raise _refused(name, value, "Value must be no more than 1")
        return value

    return ValueKind(ConfigType.DOUBLE, parse)


def boolean() -> ValueKind:
    def parse(name: str, text: str) -> Value:
        folded = _trim(text).lower()
        if folded not in ("true", "false"):
            raise _refused(name, text, "Expected value to be either true or false")
        return folded == "true"

    return ValueKind(ConfigType.BOOLEAN, parse)


def one_of(*allowed: str) -> ValueKind:
    def parse(name: str, text: str) -> Value:
        return _among(name, _trim(text), allowed)

    return ValueKind(ConfigType.STRING, parse)


def list_of(*allowed: str) -> ValueKind:
    """Return the kind of a list of non-empty items, possibly without any; duplicates are dropped."""

    def parse(name: str, text: str) -> Value:
        items = tuple(dict.fromkeys(_split(text)))
        if "" in items:
            raise InvalidConfig(f"Configuration '{name}' values must not be empty.")
        return tuple(_among(name, item, allowed) for item in items)

    return ValueKind(ConfigType.LIST, parse)


def replicas() -> ValueKind:
    """Return the kind that means all replicas, or a list of partition:broker pairs."""

    def parse(name: str, text: str) -> Value:
        items = _split(text)
        if items != ("*",) and not all(_REPLICA.fullmatch(item) for item in items):
            shown = f"[{', '.join(items)}]"
            raise _refused(
                name,
                shown,
                f"{name} must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
            )
        return items

    return ValueKind(ConfigType.LIST, parse)


def _whole(kind: ConfigType, largest: int, low: int | None, high: int | None) -> Parse:
    def parse(name: str, text: str) -> Value:
        trimmed = _trim(text)
        value = int(trimmed) if _WHOLE.fullmatch(trimmed) else None
        if value is None or not -largest - 1 <= value <= largest:
            raise _refused(name, text, f"Not a number of type {kind.name}")
        if low is not None and value < low:
            raise _refused(name, value, f"Value must be at least {low}")
        if high is not None and value > high:
            raise _refused(name, value, f"Value must be no more than {high}")
        return value

    return parse


def _among(name: str, text: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise _refused(name, text, f"String must be one of: {', '.join(allowed)}")
    return text


def _split(text: str) -> tuple[str, ...]:
    trimmed = _trim(text)
    return tuple(_COMMA.split(trimmed)) if trimmed else ()


def _trim(text: str) -> str:
    return text.strip(_TRIMMED)


def _refused(name: str, value: Value, why: str) -> InvalidConfig:
    return InvalidConfig(f"Invalid value {value} for configuration {name}: {why}")
