"""Invariants of a working group, over its journal. Each returns the violations."""

from collections.abc import Sequence

from tests.clients.journal import Confirmed, Died, Entry, Place, Processed
from tests.clients.protocol import Record


def again(entries: Sequence[Entry]) -> list[Processed]:
    """Return records processed again although they were committed or their reader was not killed.

    A live member commits everything it has processed before its partition is revoked. A killed one may have
    processed more than it has committed: those records are processed again.
    """
    readers: dict[Place, str] = {}
    positions: dict[int, int] = {}
    dead: set[str] = set()
    wrong: list[Processed] = []
    for entry in entries:
        match entry:
            case Died():
                dead.add(entry.member)
            case Confirmed(place=(partition, offset)):
                positions[partition] = offset
            case Processed(place=(partition, offset)):
                reader = readers.get(entry.place)
                if reader is not None and (reader not in dead or offset < positions.get(partition, 0)):
                    wrong.append(entry)
                readers[entry.place] = entry.member
    return wrong


def left_out(entries: Sequence[Entry], log: Sequence[Record]) -> list[Record]:
    """Return records of the log that no member processed with the right position and value."""
    done = {(entry.place, entry.record.value) for entry in entries if isinstance(entry, Processed)}
    return [record for record in log if ((record.partition, record.offset), record.value) not in done]


def moved_back(entries: Sequence[Entry]) -> list[Confirmed]:
    """Return commits that move the group backwards."""
    positions: dict[int, int] = {}
    wrong: list[Confirmed] = []
    for entry in entries:
        if isinstance(entry, Confirmed):
            partition, offset = entry.place
            if offset < positions.get(partition, 0):
                wrong.append(entry)
            positions[partition] = offset
    return wrong
