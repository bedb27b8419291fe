"""Rendering of messages as lines of a transcript.

A request shows the fields that differ from their defaults; a response, after an arrow, shows every field of
its version. Plain fields share one line; structs in lists follow, one line each. Lists of structs are sorted,
since Kafka takes them from hash tables. Error codes are shown by name; an error message has its own line, so
that a difference in wording affects only that line.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from dray.wire import Api, ErrorCode, Message
from dray.wire.schema import FieldSchema, StructSchema, struct_schema
from tests.groups.golden.embedded import NotEmbedded, read_assignment, read_subscription
from tests.groups.golden.names import Names

INDENT: Final = "  "
SAYS: Final = "says:"
_UNSHOWN: Final = {"throttle_time_ms"}
_TEXT_MAX: Final = 200
_MESSAGE: Final = "error_message"
_CODE: Final = "error_code"
_EMBEDDED: Final[dict[str, Callable[[bytes], object]]] = {
    "metadata": read_subscription,
    "member_metadata": read_subscription,
    "assignment": read_assignment,
    "member_assignment": read_assignment,
}


def request_lines(api: Api, version: int, request: Message, names: Names) -> list[str]:
    """Render a request, without fields at their defaults."""
    schema = struct_schema(api.request, version, flexible=api.is_flexible(version))
    shown = [field for field in schema.fields if getattr(request, field.name) != field.default]
    first, *rest = _Rendering(names, whole=False).lines(schema, request, shown)
    return [f"{api.name} v{version}{': ' if first else ''}{first}", *(INDENT + line for line in rest)]


def response_lines(api: Api, version: int, response: Message, names: Names) -> list[str]:
    """Render a response with all fields, its error first."""
    schema = struct_schema(api.response, version, flexible=api.is_flexible(version))
    first, *rest = _Rendering(names, whole=True).lines(schema, response, schema.fields)
    return [f"{INDENT}→ {first}".rstrip(), *(INDENT + line for line in rest)]


class _Rendering:
    """Renders messages; `whole` includes fields at their defaults."""

    def __init__(self, names: Names, *, whole: bool) -> None:
        self._names = names
        self._whole = whole

    def lines(
        self, schema: StructSchema, message: Message, fields: "tuple[FieldSchema, ...] | list[FieldSchema]"
    ) -> Iterator[str]:
        plain: list[str] = []
        below: list[str] = []
        for field in fields:
            value = getattr(message, field.name)
            if field.name in _UNSHOWN:
                continue
            if field.name == _MESSAGE:
                below += [] if value is None else [f"{SAYS} {self._names.text(field.name, value)}"]
            elif field.struct is None or not value:
                plain.append(self._plain(field, value))
            else:
                below += self._structs(schema.nested(field), field, value)
        yield " ".join(sorted(plain, key=_errors_first))
        yield from (INDENT + line for line in below)

    def _plain(self, field: FieldSchema, value: Any) -> str:
        if field.name == _CODE:
            return ErrorCode(value).name
        return f"{field.name}={self._value(field, value)}"

    def _structs(self, schema: StructSchema, field: FieldSchema, value: Any) -> list[str]:
        items = value if field.is_array else [value]
        shown = [list(self.lines(schema, item, self._shown(schema, item))) for item in items]
        ordered = sorted(shown) if self._whole else shown
        return [line for first, *rest in ordered for line in (f"{field.name}: {first}".rstrip(), *rest)]

    def _shown(self, schema: StructSchema, item: Message) -> list[FieldSchema]:
        return [field for field in schema.fields if self._whole or getattr(item, field.name) != field.default]

    def _value(self, field: FieldSchema, value: Any) -> str:
        if field.is_array and value is not None:
            shown = [self._scalar(field.name, item) for item in value]
            return f"[{', '.join(sorted(shown, key=_by_number) if self._whole else shown)}]"
        return self._scalar(field.name, value)

    def _scalar(self, name: str, value: Any) -> str:
        if value is None:
            return "null"
        if name == "topic_id":
            return self._names.topic(bytes(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return self._names.text(name, _bytes(name, bytes(value)))
        if isinstance(value, str):
            return _shortened(self._names.text(name, value)) or '""'
        return str(value).lower() if isinstance(value, bool) else str(value)


def _errors_first(shown: str) -> bool:
    return "=" in shown


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:10]}…({len(text)} characters)"


def _bytes(name: str, value: bytes) -> str:
    if not value:
        return '""'
    try:
        return str(_EMBEDDED[name](value))
    except NotEmbedded:
        return f"0x{value.hex()}"


def _by_number(shown: str) -> tuple[int, str]:
    return (int(shown), "") if shown.lstrip("-").isdigit() else (-1, shown)
