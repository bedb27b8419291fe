"""The matrix in action: every step in every version by every user, on one broker."""

from collections.abc import Iterator, Sequence
from typing import Final

from tests.api.authorization import cluster, consumer_groups, groups, topics
from tests.api.authorization.golden_files import Answers, Asked
from tests.api.authorization.rendering import Answer
from tests.api.authorization.steps import Step
from tests.api.authorization.users import NAMES, REFUSED
from tests.api.authorization.world import World

STEPS: Final[Sequence[Step]] = (
    *topics.STEPS,
    *groups.STEPS,
    *consumer_groups.STEPS,
    *cluster.STEPS,
)
APIS: Final = tuple(dict.fromkeys(step.name for step in STEPS))
_NOT_READY: Final = (
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "CONCURRENT_TRANSACTIONS",
)
_ATTEMPTS: Final = 100


def requests_of(api: str) -> Iterator[tuple[Step, Asked, str]]:
    """Yield the requests about an API in order, each with the user who sends it."""
    for step in STEPS:
        if step.name != api:
            continue
        for version in step.in_versions:
            for user in NAMES:
                if user not in REFUSED or version == step.in_versions[-1]:
                    yield step, Asked(version, step.label), user


async def answer_to(world: World, step: Step, version: int, user: str) -> Answer:
    if step.prepare is not None and user not in REFUSED:
        await step.prepare(world)
    if step.exchange is not None and user not in REFUSED:
        return await step.exchange(world, user)
    return await world.answer(user, step.make(world, version), version)


async def answers_of(world: World, api: str) -> Answers:
    """Send all requests about an API, in a world that has been started."""
    answers: Answers = {}
    for step, asked, user in requests_of(api):
        answer = await answer_to(world, step, asked.version, user)
        for _ in range(_ATTEMPTS):
            if not any(code in line for code in _NOT_READY for line in answer):
                break
            await world.pause()
            answer = await answer_to(world, step, asked.version, user)
        answers.setdefault(asked, {})[user] = answer
        if step.prepare is not None and user == NAMES[-1]:
            await step.prepare(world)  # what the last user changed
    return answers
