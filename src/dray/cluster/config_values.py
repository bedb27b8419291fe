"""Kinds of config values: how the text of one is read, what is refused and in which words.

The rules and the words are Kafka's, because its tools show them to people. A kind reads text into a value;
`as_text` writes a value the way Kafka shows it (`" TRUE"` is shown as `true`, `"a , b"` as `a,b`).

Warts: numbers are plain decimal ones, where Java also takes other scripts' digits, hexadecimal and NaN. A
fraction below 0.001 is shown as 0.0001, where Java shows 1.0E-4.
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
"""Takes a config's name and text; raises `InvalidConfig`."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_COMMA = re.compile(r"\s*,\s*")
_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")
_TRIMMED = "".join(map(chr, range(0x21)))
"""What Java's `trim` takes away."""


class ConfigType(IntEnum):
    """Types as DescribeConfigs numbers them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


class InvalidConfig(Exception):
    """A config's name or value is not one that Kafka takes; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What values a config may have."""

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


def level(low: int, high: int, besides: int) -> ValueKind:
    """A compression level, or the one number outside the range that stands for the codec's default."""
    read = _whole(ConfigType.INT, INT_MAX, None, None)

    def parse(name: str, text: str) -> Value:
        value = read(name, text)
        if value != besides and not (isinstance(value, int) and low <= value <= high):
            raise _refused(name, value, f"Value must be between {low} and {high} or equal to {besides}")
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
    """A list of different items; it may be empty, its items may not. What comes twice is taken once."""

    def parse(name: str, text: str) -> Value:
        items = tuple(dict.fromkeys(_split(text)))
        if "" in items:
            raise InvalidConfig(f"Configuration '{name}' values must not be empty.")
        return tuple(_among(name, item, allowed) for item in items)

    return ValueKind(ConfigType.LIST, parse)


def replicas() -> ValueKind:
    """All replicas, or a list of partition:broker pairs."""

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
