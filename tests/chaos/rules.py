"""What holds whatever was killed when: acknowledged records are there once, in order, none invented."""

from collections.abc import Iterable, Mapping, Sequence

from tests.chaos.producers import Told


def violations(told: Iterable[Told], found: Mapping[int, Sequence[tuple[int, str]]]) -> list[str]:
    said = list(told)
    wrong = [error for one in said for error in one.errors]
    sent = set().union(*(one.sent for one in said))
    for partition, records in found.items():
        wrong += _partition_faults(partition, records, sent)
    at = {name: (partition, offset) for partition, records in found.items() for offset, name in records}
    for one in said:
        wrong += [
            f"{name} was acknowledged at {place}, it is at {at.get(name)}"
            for name, place in one.acknowledged.items()
            if at.get(name) != place
        ]
        wrong += [f"{name} was never acknowledged" for name in one.sent - one.acknowledged.keys()]
    return wrong


def _partition_faults(partition: int, records: Sequence[tuple[int, str]], sent: set[str]) -> list[str]:
    wrong = []
    if [offset for offset, _ in records] != list(range(len(records))):
        wrong.append(f"partition {partition}: offsets are not dense")
    names = [name for _, name in records]
    if len(set(names)) != len(names):
        wrong.append(f"partition {partition}: {len(names) - len(set(names))} records are doubled")
    wrong += [f"{name} was never sent" for name in set(names) - sent]
    last: dict[str, int] = {}
    for name in names:
        producer, _, number = name.split("/")
        if int(number) <= last.get(producer, -1):
            wrong.append(f"{name} comes behind number {last[producer]}")
        last[producer] = int(number)
    return wrong
