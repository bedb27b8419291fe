"""Comparison of Dray's answers with those of Apache Kafka, line by line."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from dray.testing.virtual_loop import run
from tests.api.authorization.differences import DIFFERENCES, Difference
from tests.api.authorization.dray import DrayBackend
from tests.api.authorization.golden_files import Answers, path_of, read
from tests.api.authorization.playing import answer_to, answers_of, requests_of
from tests.api.authorization.rendering import SEPARATOR, Answer
from tests.api.authorization.world import World


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The fields of an answer that only one of the two brokers has."""

    place: str
    users: tuple[str, ...]
    kafka: tuple[str, ...]
    dray: tuple[str, ...]
    reasons: frozenset[Difference] = field(default=frozenset())
    explained: bool = False

    def __str__(self) -> str:
        lines = [f"- {line}" for line in self.kafka] + [f"+ {line}" for line in self.dray]
        return "\n    ".join((f"{self.place}: {', '.join(self.users)}", *lines))


def contradictions_of(api: str) -> Iterator[Contradiction]:
    """Compare what was recorded about an API with what Dray does now."""
    yield from contradictions(api, read(path_of(api).read_text()), answers_of_dray(api))


def first_contradiction(api: str) -> Contradiction | None:
    """Return the first difference that no reason explains, without asking for more."""
    recorded = read(path_of(api).read_text())

    async def main() -> Contradiction | None:
        world = World(await DrayBackend.started())
        await world.start()
        for step, asked, user in requests_of(api):
            ours = await answer_to(world, step, asked.version, user)
            found = _compared(f"{api} {asked}", (user,), *_unequal(recorded[asked][user], ours))
            if found is not None and not found.explained:
                return found
        return None

    return run(main())


def answers_of_dray(api: str) -> Answers:
    async def main() -> Answers:
        world = World(await DrayBackend.started())
        await world.start()
        return await answers_of(world, api)

    return run(main())


def contradictions(api: str, kafka: Answers, dray: Answers) -> Iterator[Contradiction]:
    assert list(kafka) == list(dray), "the recorded requests are not those of the steps; record them again"
    for asked, by_user in kafka.items():
        assert by_user.keys() == dray[asked].keys(), asked
        users: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for user, theirs in by_user.items():
            ours = dray[asked][user]
            users.setdefault(_unequal(theirs, ours), []).append(user)
        for (only_theirs, only_ours), who in users.items():
            found = _compared(f"{api} {asked}", tuple(who), only_theirs, only_ours)
            if found is not None:
                yield found


def _unequal(theirs: Answer, ours: Answer) -> tuple[Answer, Answer]:
    """Return the fields that only one of the answers has, each with its path."""
    kafka, dray = list(_fields(theirs)), list(_fields(ours))
    return (
        tuple(line for line in kafka if line not in dray),
        tuple(line for line in dray if line not in kafka),
    )


def _fields(answer: Answer) -> Iterator[str]:
    for line in answer:
        path, *fields = line.split(SEPARATOR)
        yield path
        yield from (f"{path} {field}" for field in fields)


def _compared(place: str, users: tuple[str, ...], kafka: Answer, dray: Answer) -> Contradiction | None:
    if not kafka and not dray:
        return None
    reasons: set[Difference] = set()
    explained = True
    for user in users:
        for line in (*kafka, *dray):
            found = {one for one in DIFFERENCES if one.explains(f"{place}: {user}", line)}
            reasons |= found
            explained = explained and bool(found)
    return Contradiction(place, users, kafka, dray, frozenset(reasons), explained)
