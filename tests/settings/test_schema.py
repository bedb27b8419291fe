"""The schema that Structs declare; a type that no source can express is refused."""

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from dray.settings.schema import schema_of
from tests.settings.sources import SCHEMA


class Listed(Struct):
    """A list."""

    names: list[str] = []


class Mixed(Struct):
    """Two types."""

    name: int | str = 1


class Numbered(Struct):
    """A choice that is not text."""

    level: Literal[1, 2] = 1


class Patterned(Struct):
    """Limits that the page must show."""

    name: Annotated[str, Meta(pattern="^a+$")] = "a"
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5


def tree(section: type[Struct]) -> type[Struct]:
    return type("Tree", (Struct,), {"__annotations__": {"section": section}})


@pytest.mark.parametrize("section", [Listed, Mixed, Numbered, int])
def test_type_that_is_not_a_single_value_is_refused(section: type[Struct]) -> None:
    with pytest.raises(TypeError, match=r"setting|section"):
        schema_of(tree(section))


def test_limits_are_part_of_the_allowed_values() -> None:
    fields = schema_of(tree(Patterned)).sections["section"].fields
    assert fields["name"].allowed == "text that matches ^a+$"
    assert fields["share"].allowed == "number, more than 0 and less than 1"


@pytest.mark.parametrize(
    ("path", "largest", "allowed"),
    [
        ("writer.linger_ms", 60_000, "0 to 1m"),
        ("writer.flush_bytes", 1 << 50, "1KiB to 1024TiB"),
        ("writer.workers", 2**31 - 1, "1 to 2147483647"),
        ("writer.ratio", None, "0 to 1"),
    ],
)
def test_whole_numbers_have_an_upper_bound(path: str, largest: int | None, allowed: str) -> None:
    field = SCHEMA.find(path)
    assert field is not None
    assert field.largest == largest
    assert allowed in field.allowed


def test_names_are_derived_from_section_and_key() -> None:
    field = SCHEMA.find("writer.linger_ms")
    assert field is not None
    assert (field.kind, field.path, field.variable) == (
        "duration",
        "writer.linger_ms",
        "DRAY_WRITER_LINGER_MS",
    )
    assert [SCHEMA.find(path) for path in ("writer", "writer.x", "x.linger_ms", "")] == [None] * 4


def test_values_have_a_canonical_text() -> None:
    shown = {field.key: field.shown(field.default) for field in SCHEMA.fields()}
    assert shown["linger_ms"] == "5ms"
    assert shown["flush_bytes"] == "8MiB"
    assert shown["eager"] == "false"
    assert shown["zone"] == ""
