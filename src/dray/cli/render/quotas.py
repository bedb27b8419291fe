"""Output of `dray quotas`, as text and as JSON."""

from collections.abc import Sequence

from dray.cli.render.formats import pretty_json, table
from dray.cluster.quotas import StoredQuotas
from dray.quotas import Entity


def quotas_json(found: Sequence[StoredQuotas]) -> str:
    return pretty_json(
        [{"entity": dict(one.parts), "limits": dict(sorted(one.limits.items()))} for one in found]
    )


def quotas_text(found: Sequence[StoredQuotas]) -> str:
    rows = [
        (entity_text(one.entity), key, f"{limit:g}")
        for one in found
        for key, limit in sorted(one.limits.items())
    ]
    return "\n".join(table(("client", "limit", "value"), rows)) if rows else ""


def entity_text(entity: Entity) -> str:
    """Return a client as a command names it: `user alice, client-id etl`."""
    return ", ".join(f"any other {kind}" if name is None else f"{kind} {name}" for kind, name in entity.parts)
