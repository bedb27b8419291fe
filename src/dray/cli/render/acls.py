"""Output of `dray acls`, as text and as JSON."""

from collections.abc import Sequence

from dray.acls import AclBinding
from dray.cli.render.formats import pretty_json, table

_COLUMNS = ("principal", "permission", "operation", "resource", "name", "pattern", "host")


def acls_json(found: Sequence[AclBinding]) -> str:
    return pretty_json([dict(zip(_COLUMNS, _row(binding), strict=True)) for binding in found])


def acls_text(found: Sequence[AclBinding]) -> str:
    return "\n".join(table(_COLUMNS, [_row(binding) for binding in found])) if found else ""


def _row(binding: AclBinding) -> tuple[str, ...]:
    pattern, entry = binding.pattern, binding.entry
    return (
        entry.principal,
        _word(entry.permission.name),
        _word(entry.operation.name),
        _word(pattern.resource_type.name),
        pattern.name,
        _word(pattern.pattern_type.name),
        entry.host,
    )


def _word(name: str) -> str:
    return name.lower().replace("_", "-")
