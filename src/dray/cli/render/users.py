"""Output of `dray users`, as text and as JSON."""

from collections.abc import Sequence

from dray.cli.render.formats import pretty_json, table
from dray.server.user_admin import User


def users_json(found: Sequence[User]) -> str:
    return pretty_json([{"name": user.name, "iterations": user.iterations} for user in found])


def users_text(found: Sequence[User]) -> str:
    rows = [(user.name, ", ".join(user.iterations)) for user in found]
    return "\n".join(table(("user", "mechanisms"), rows)) if rows else ""
