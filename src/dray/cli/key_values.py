"""KEY=VALUE as the argument of an option."""

import click


class KeyValue(click.ParamType[tuple[str, str]]):
    """A key and a value, with the first equals sign between them."""

    name = "KEY=VALUE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not key or not equals:
            self.fail(f"expected KEY=VALUE, got {value!r}", param, ctx)
        return key, text
