"""Shows settings: as YAML with origins, as JSON, and as the page docs/SETTINGS.md."""

import json
from collections.abc import Iterable, Iterator

import msgspec

from dray.cli.settings.load import Loaded
from dray.cli.settings.schema import Field, Schema, Section
from dray.cli.settings.sources import OTHER_VARIABLES

_INTRO = """\
# Settings

Made by `scripts/generate_docs.py` from the settings themselves; do not edit.

Dray takes its settings from one YAML file (`--config FILE`, or `DRAY_CONFIG`), from `DRAY_*` environment
variables and from flags. A flag wins over the environment, the environment over the file, the file over the
default. A key that does not exist, a value that is not allowed, a key given twice and an unknown `DRAY_*`
variable are errors, all told together, and nothing starts. `dray config show` prints what is in effect and
where it came from.

- The file has one mapping for each section: `log.linger_ms` is `linger_ms` under `log`.
- Every setting can be given as `--set SECTION.KEY=VALUE`; some have a flag of their own.
- Sizes may have a unit: `8MiB`, `1.5GiB`, `500kB`. Durations too: `500ms`, `5s`, `10m`, `1h`, `7d`. A bare
  number is in the unit that the key names.
- A secret may be written as `file:PATH`, which reads it from a file. It is never shown, and cannot be a flag.
- In the URLs of `metadata`, `storage` and `tables`, `{data_dir}` stands for `broker.data_dir`.
- An empty value leaves a setting unset, where it may be.
"""


def as_yaml(loaded: Loaded[msgspec.Struct]) -> str:
    """Return a settings file that gives the same values, with the origin of each beside it."""
    return "".join(_yaml_section(loaded, section) for section in loaded.schema.sections.values())


def as_json(loaded: Loaded[msgspec.Struct]) -> dict[str, dict[str, object]]:
    """Return section → key → value and origin; sizes and durations as plain numbers."""
    return {
        section.name: {field.key: _json_value(loaded, field) for field in section.fields.values()}
        for section in loaded.schema.sections.values()
    }


def as_markdown(schema: Schema) -> str:
    """Return the page of all settings."""
    sections = [_markdown_section(section) for section in schema.sections.values()]
    return "\n".join([_INTRO, *sections, _markdown_variables()])


def _yaml_section(loaded: Loaded[msgspec.Struct], section: Section) -> str:
    lines = [(_yaml_line(loaded, field), str(loaded.origin(field))) for field in section.fields.values()]
    width = max((len(line) for line, _ in lines), default=0)
    return f"{section.name}:\n" + "".join(f"  {line:{width}}  # {origin}\n" for line, origin in lines)


def _yaml_line(loaded: Loaded[msgspec.Struct], field: Field) -> str:
    value = loaded.value(field)
    if value is None:
        return f"{field.key}:"
    text = field.shown(value)
    plain = field.kind in {"whole number", "number", "size", "duration", "switch", "choice"}
    return f"{field.key}: {text if plain else json.dumps(text, ensure_ascii=False)}"


def _json_value(loaded: Loaded[msgspec.Struct], field: Field) -> dict[str, object]:
    value = loaded.value(field)
    hidden = field.kind == "secret" and value is not None
    origin = loaded.origin(field)
    return {"value": field.shown(value) if hidden else value, "origin": origin.kind, "from": str(origin)}


def _markdown_section(section: Section) -> str:
    rows = [_markdown_row(field) for field in section.fields.values()]
    head = ["Key", "Type", "Default", "Allowed", "Environment", "Flag", "Description"]
    return f"## {section.name}\n\n{section.intro}\n\n{_table(head, rows)}"


def _markdown_row(field: Field) -> list[str]:
    default = "required" if field.required else _code(field.shown(field.default)) or "not set"
    flag = "" if field.flag is None else _code(field.flag)
    return [
        _code(field.path),
        field.kind,
        default,
        field.allowed,
        _code(field.variable),
        flag,
        field.description,
    ]


def _markdown_variables() -> str:
    rows = [[_code(name), meaning] for name, meaning in OTHER_VARIABLES.items()]
    rows.append([_code("DRAY_TEST_*"), "Read by Dray's own tests; ignored."])
    intro = (
        "Variables that Kubernetes sets for a Service whose name begins with `dray`\n"
        "(`DRAY_SERVICE_HOST`, `DRAY_PORT_9092_TCP`, …) are ignored."
    )
    return f"## Other variables\n\n{_table(['Variable', 'Meaning'], rows)}\n{intro}\n"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "".join(_table_lines(head, rows))


def _table_lines(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
