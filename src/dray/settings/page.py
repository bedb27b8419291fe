"""Settings as text: YAML with origins, and JSON."""

import json

import msgspec

from dray.settings.load import Loaded
from dray.settings.schema import Field, Section


def as_yaml(loaded: Loaded[msgspec.Struct]) -> str:
    """Return a settings file with the same values, each with its origin as a comment."""
    return "".join(_yaml_section(loaded, section) for section in loaded.schema.sections.values())


def as_json(loaded: Loaded[msgspec.Struct]) -> dict[str, dict[str, object]]:
    """Return section → key → value and origin, with sizes and durations as numbers."""
    return {
        section.name: {field.key: _json_value(loaded, field) for field in section.fields.values()}
        for section in loaded.schema.sections.values()
    }


def _yaml_section(loaded: Loaded[msgspec.Struct], section: Section) -> str:
    lines = [(_yaml_line(loaded, field), str(loaded.origin(field))) for field in section.fields.values()]
    width = max((len(line) for line, _ in lines), default=0)
    return f"{section.name}:\n" + "".join(f"  {line:{width}}  # {origin}\n" for line, origin in lines)


def _yaml_line(loaded: Loaded[msgspec.Struct], field: Field) -> str:
    value = loaded.value(field)
    if value is None:
        return f"{field.key}:"
    text = field.shown(value)
    plain = field.kind in {"integer", "number", "size", "duration", "boolean", "choice"}
    return f"{field.key}: {text if plain else json.dumps(text, ensure_ascii=False)}"


def _json_value(loaded: Loaded[msgspec.Struct], field: Field) -> dict[str, object]:
    value = loaded.value(field)
    hidden = field.kind == "secret" and value is not None
    origin = loaded.origin(field)
    return {"value": field.shown(value) if hidden else value, "origin": origin.kind, "from": str(origin)}
