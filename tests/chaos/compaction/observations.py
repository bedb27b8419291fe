"""Records that all consumers of the topic saw: each offset must always have the same one."""

from collections import defaultdict
from collections.abc import Sequence

from tests.chaos.histories import Records

_VIOLATIONS_MAX = 100


class Observations:
    """Names by partition and offset; consumers in several threads add to it."""

    def __init__(self) -> None:
        self._names: dict[int, dict[int, str]] = defaultdict(dict)
        self._ends: dict[int, int] = {}
        self.count = 0
        self.violations: list[str] = []

    def add(self, consumer: str, partition: int, offset: int, name: str) -> None:
        self.count += 1
        first = self._names[partition].setdefault(offset, name)
        if first != name:
            self.report(
                f"equal: the {consumer} read {name} at {offset} of partition {partition}, before: {first}"
            )

    def report(self, violation: str) -> None:
        if len(self.violations) < _VIOLATIONS_MAX:
            self.violations.append(violation)

    def at(self, partition: int, offset: int) -> str | None:
        return self._names[partition].get(offset)

    def end(self, partition: int) -> int:
        """Return the end of the offsets that were all seen, from the beginning on."""
        names, end = self._names[partition], self._ends.get(partition, 0)
        while end in names:
            end += 1
        self._ends[partition] = end
        return end

    def records(self) -> Records:
        return {partition: sorted(names.items()) for partition, names in self._names.items()}

    def before(self, partition: int, offset: int) -> Sequence[tuple[int, str]]:
        """Return the records that were seen before an offset."""
        return [(at, name) for at, name in sorted(self._names[partition].items()) if at < offset]
