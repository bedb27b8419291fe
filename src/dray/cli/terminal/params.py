"""Argument types: any that a function parses, and KEY=VALUE."""

from collections.abc import Callable
from typing import Final, TypeVar

import click
from typing_extensions import override

T = TypeVar("T")


class Parsed(click.ParamType[T]):
    """An argument read by a function that raises `ValueError` with a user-facing message."""

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self._parse = parse

    @override
    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> T:
        if not isinstance(value, str):
            return value  # type: ignore[return-value] # click converts a converted value again
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parse_key_value(text: str) -> tuple[str, str]:
    """Read a key and a value, separated by the first equals sign."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ValueError(f"expected KEY=VALUE, got {text!r}")
    return key, value


KEY_VALUE: Final = Parsed("KEY=VALUE", parse_key_value)
