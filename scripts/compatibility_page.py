"""Generator of docs/COMPATIBILITY.md: which Kafka APIs are served, and how they differ from Apache Kafka.

Versions come from the declarations that serve the requests, notes and differences from the bullets in the
docstring of each API's module.
"""

import re
from collections.abc import Iterator
from types import ModuleType

from dray.api.dispatch import MODULES, SERVED
from dray.api.served import Served
from dray.wire import APIS, Api

NOTES = "Version notes"
DIFFERENCES = "Differences from Kafka"

_BULLET = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)
_INTRODUCTION = """\
# Compatibility

Generated from the code by `make docs`; do not edit. The reference is Apache Kafka 4.3.

APIs that are not supported are not advertised, and a request for one closes the connection, as in Kafka.
"""
_UNSUPPORTED = {
    "Planned: transactions.": (24, 25, 26, 27, 28, 65, 66),
    "Planned: authentication and ACLs.": (17, 29, 30, 31, 36, 50, 51),
    "Not planned: delegation tokens.": (38, 39, 40, 41),
    "Not planned: share groups.": (76, 77, 78, 79, 90, 91, 92),
    "Not planned: streams groups; Kafka Streams runs on the classic protocol.": (88, 89),
    "Not applicable: there are no replicas to move.": (34, 45),
    "Not applicable: there are no controllers.": (55, 57, 64),
    "Not planned: client telemetry.": (71, 72),
}
_REASONS = {key: reason for reason, keys in _UNSUPPORTED.items() for key in keys}


def as_markdown() -> str:
    """Return the whole page."""
    modules = {module.API.api.key: module for module in MODULES}
    served = [modules[key] for key in sorted(modules)]
    unsupported = [APIS[key] for key in sorted(APIS.keys() - SERVED.keys())]
    parts = [
        _INTRODUCTION,
        "## Supported APIs\n",
        *_table(("key", "API", "versions"), map(_served_row, served)),
        "## Differences from Apache Kafka\n",
        *(section for module in served for section in _differences(module)),
        "## Version notes\n",
        *_table(("API", "version", "change"), (row for module in served for row in _note_rows(module))),
        "## Unsupported APIs\n",
        *_table(("key", "API", "reason"), map(_unsupported_row, unsupported)),
    ]
    return "\n".join(parts)


def bullets(module: ModuleType, heading: str) -> list[str]:
    """Return the bullets under a heading of the module's docstring, each in one line."""
    _, _, below = (module.__doc__ or "").partition(f"\n{heading}:\n")
    return [" ".join(found.split()) for found in _BULLET.findall(below.partition("\n\n")[0])]


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    for cells in (head, tuple("---" for _ in head), *rows):
        yield f"| {' | '.join(cells)} |"
    yield ""


def _served_row(module: ModuleType) -> tuple[str, ...]:
    served: Served = module.API
    versions = str(served.lowest)
    if served.lowest != served.highest:
        versions += f"–{served.highest}"  # noqa: RUF001 - the dash of a range
    if served.advertised_from != served.lowest:
        versions += f" (advertised from {served.advertised_from})"
    name = served.api.name
    shown = f"[{name}](#{name.lower()})" if bullets(module, DIFFERENCES) else name
    return str(served.api.key), shown, versions


def _differences(module: ModuleType) -> Iterator[str]:
    found = bullets(module, DIFFERENCES)
    if found:
        yield f"### {module.API.api.name}\n"
        yield "\n".join(f"- {one}" for one in found) + "\n"


def _note_rows(module: ModuleType) -> Iterator[tuple[str, ...]]:
    name = module.API.api.name
    for note in bullets(module, NOTES):
        version, _, change = note.partition(": ")
        yield name, version, change
        name = ""


def _unsupported_row(api: Api) -> tuple[str, ...]:
    return str(api.key), api.name, _REASONS[api.key]
