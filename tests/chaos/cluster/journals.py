"""Journals of the client processes, written to a file at the end of each.

Times are of the monotonic clock, which all processes of a machine share.
"""

import pickle
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.chaos.groups.histories import Event
from tests.chaos.histories import ProducerHistory, Records


class Empty(NamedTuple):
    """A fetch that was answered without an error and without any record."""

    topic: str
    partition: int
    offset: int
    requested_at: float


@dataclass(slots=True)
class TailJournal:
    """The records that one broker returned, from the beginning on."""

    broker: str
    seen: Mapping[str, Records]
    times: list[float]
    """When records were received, and in `counts` how many."""
    counts: list[int]
    empties: list[Empty]
    errors: Counter[str]


@dataclass(slots=True)
class MemberJournal:
    """The events of one member of a group."""

    topic: str
    events: list[Event]
    failures: list[str]
    errors: Counter[str]


@dataclass(slots=True)
class Journal:
    """The journal of one process."""

    producers: dict[str, list[ProducerHistory]] = field(default_factory=dict)
    """By topic."""
    members: list[MemberJournal] = field(default_factory=list)
    tails: list[TailJournal] = field(default_factory=list)


def write(path: Path, journal: Journal) -> None:
    path.write_bytes(pickle.dumps(journal))


def read(path: Path) -> Journal:
    journal = pickle.loads(path.read_bytes())
    assert isinstance(journal, Journal)
    return journal


def merged(histories: Mapping[str, list[ProducerHistory]], topic: str) -> ProducerHistory:
    """Return the histories of all producers of a topic as one."""
    whole = ProducerHistory()
    for history in histories.get(topic, ()):
        whole.sent |= history.sent
        whole.acknowledged |= history.acknowledged
        whole.errors += history.errors
    return whole
