"""The page of everything a broker or a compactor shows at /metrics, made from the instruments themselves."""

from itertools import groupby
from typing import Any

from dray.api.metrics import ApiMetrics
from dray.coordinators import GroupMetrics
from dray.log import LogMetrics
from dray.meta.metered import MetaMetrics
from dray.net import NetMetrics
from dray.objects.metered import ObjectMetrics
from dray.observe import Instrument, Metrics
from dray.pipeline.metrics import CompactionMetrics

_INTRO = """\
# Metrics

Made by `scripts/generate_docs.py` from the instruments themselves; do not edit.

A broker shows these at `/metrics` of its HTTP address, in Prometheus's text format. Sizes are in bytes and
times in seconds. A histogram has the series `_bucket`, `_sum` and `_count`: its count is the number of times,
its sum divided by that the mean. What has labels is shown from the first time something was counted.

The numbers of the process itself are there too, as `process_*` (memory, file descriptors, processor time)
and `python_*` (version, garbage collection).
"""
_COMPACTOR = """\
# A compactor's

A compactor shows these, those of the two stores above, and the numbers of its process, at `/metrics` of the
address in `compaction.http`. Without that setting they are shown nowhere: the compactor of `dray up` too is a
process of its own, and the address of its broker (`broker.http`) has none of them.
"""
_ROOMS = {
    "api": "Kafka requests",
    "compaction": "Compaction and tables",
    "groups": "Consumer groups",
    "log": "The log",
    "meta": "The metadata store",
    "net": "Connections",
    "objects": "The object store",
}


def as_markdown() -> str:
    """Return the whole page."""
    parts = [(_INTRO, instruments()), (_COMPACTOR, compactor_instruments())]
    return "\n".join(
        line for intro, shown in parts for line in [intro, *(_section(*room) for room in _by_room(shown))]
    )


def instruments() -> list[Instrument[Any]]:
    """Return every instrument that a broker has, by name."""
    metrics = Metrics()
    for room in (ApiMetrics, GroupMetrics, LogMetrics, MetaMetrics, NetMetrics, ObjectMetrics):
        room.on(metrics)
    return sorted(metrics.instruments, key=lambda instrument: instrument.name)


def compactor_instruments() -> list[Instrument[Any]]:
    """Return every instrument that only a compactor has, by name."""
    metrics = Metrics()
    CompactionMetrics.on(metrics)
    return sorted(metrics.instruments, key=lambda instrument: instrument.name)


def _by_room(sorted_ones: list[Instrument[Any]]) -> list[tuple[str, list[Instrument[Any]]]]:
    return [(room, list(of_it)) for room, of_it in groupby(sorted_ones, lambda one: one.name.split("_")[1])]


def _section(room: str, of_it: list[Instrument[Any]]) -> str:
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(one.label_names)} | {one.help_text} |" for one in of_it
    ]
    head = [
        f"## {_ROOMS.get(room, room)}",
        "",
        "| Name | Kind | Labels | Meaning |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows, ""])
