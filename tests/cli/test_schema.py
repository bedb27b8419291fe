"""The shape of settings, read off Structs; what no source could give is refused when the program is made."""

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from dray.cli.settings.schema import schema_of
from tests.cli.sources import SCHEMA


class Listed(Struct):
    """A list."""

    names: list[str] = []


class Mixed(Struct):
    """Two types."""

    name: int | str = 1


class Numbered(Struct):
    """A choice that is no word."""

    level: Literal[1, 2] = 1


class Patterned(Struct):
    """Limits that the page must tell."""

    name: Annotated[str, Meta(pattern="^a+$")] = "a"
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5


def tree(section: type[Struct]) -> type[Struct]:
    return type("Tree", (Struct,), {"__annotations__": {"section": section}})


@pytest.mark.parametrize("section", [Listed, Mixed, Numbered, int])
def test_what_is_no_single_value_is_refused(section: type[Struct]) -> None:
    with pytest.raises(TypeError, match=r"setting|section"):
        schema_of(tree(section))


def test_limits_are_told() -> None:
    fields = schema_of(tree(Patterned)).sections["section"].fields
    assert fields["name"].allowed == "text that matches ^a+$"
    assert fields["share"].allowed == "a number, more than 0 and less than 1"


def test_names_come_from_section_and_key() -> None:
    field = SCHEMA.find("pump.linger_ms")
    assert field is not None
    assert (field.kind, field.path, field.variable) == ("duration", "pump.linger_ms", "DRAY_PUMP_LINGER_MS")
    assert [SCHEMA.find(path) for path in ("pump", "pump.x", "x.linger_ms", "")] == [None] * 4


def test_values_are_shown_in_their_canonical_form() -> None:
    shown = {field.key: field.shown(field.default) for field in SCHEMA.fields()}
    assert shown["linger_ms"] == "5ms"
    assert shown["flush_bytes"] == "8MiB"
    assert shown["eager"] == "false"
    assert shown["zone"] == ""
