"""What readers have seen of the topic, whoever they were: at each offset always the same record."""

from collections import defaultdict
from collections.abc import Sequence

from tests.chaos.histories import Records

_TOLD_MAX = 100


class Seen:
    """Names by partition and offset; readers in several threads add to it."""

    def __init__(self) -> None:
        self._names: dict[int, dict[int, str]] = defaultdict(dict)
        self._ends: dict[int, int] = {}
        self.count = 0
        self.wrong: list[str] = []

    def add(self, reader: str, partition: int, offset: int, name: str) -> None:
        self.count += 1
        first = self._names[partition].setdefault(offset, name)
        if first != name:
            self.complain(
                f"same: {reader} read {name} at {offset} of partition {partition}, before it was {first}"
            )

    def complain(self, what: str) -> None:
        if len(self.wrong) < _TOLD_MAX:
            self.wrong.append(what)

    def at(self, partition: int, offset: int) -> str | None:
        return self._names[partition].get(offset)

    def end(self, partition: int) -> int:
        """Return up to where everything has been seen, from the beginning."""
        names, end = self._names[partition], self._ends.get(partition, 0)
        while end in names:
            end += 1
        self._ends[partition] = end
        return end

    def records(self) -> Records:
        return {partition: sorted(names.items()) for partition, names in self._names.items()}

    def before(self, partition: int, offset: int) -> Sequence[tuple[int, str]]:
        """Return what lay before an offset where the log begins now."""
        return [(at, name) for at, name in sorted(self._names[partition].items()) if at < offset]
