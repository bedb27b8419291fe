"""The rules of a group that works, over its journal. Each returns what breaks it."""

from collections.abc import Sequence

from tests.clients.journal import Confirmed, Died, Entry, Place, Processed
from tests.clients.protocol import Record


def again(entries: Sequence[Entry]) -> list[Processed]:
    """Records processed again, although they were committed or their reader was not killed.

    A reader that lives gives no partition away before it has committed what it has processed. One that is
    killed may have processed more than it has committed: that has to be done again.
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
    """Records of the log that nobody processed, at their place and with their value."""
    done = {(entry.place, entry.record.value) for entry in entries if isinstance(entry, Processed)}
    return [record for record in log if ((record.partition, record.offset), record.value) not in done]


def moved_back(entries: Sequence[Entry]) -> list[Confirmed]:
    """Commits by which the group would read again what it has committed before."""
    positions: dict[int, int] = {}
    wrong: list[Confirmed] = []
    for entry in entries:
        if isinstance(entry, Confirmed):
            partition, offset = entry.place
            if offset < positions.get(partition, 0):
                wrong.append(entry)
            positions[partition] = offset
    return wrong
