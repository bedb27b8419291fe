"""What one transaction does for a group of commits; pure.

The commits are judged one after the other, each against what the earlier ones of the group would leave. Only
the last state of each key is written. So a group costs a few statements however many commits it has, one
commit's failed check touches no other, and nothing has to be rolled back.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from dray.meta.port import (
    ABSENT,
    Conflict,
    Delete,
    Domain,
    MetaError,
    Put,
    SessionExpired,
    SessionId,
    Version,
    Versions,
    Write,
)
from dray.meta.sqlite.requests import CommitRequest

Place = tuple[Domain, str]


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A commit that happens: its revision, which is also the version of its puts, and its changes."""

    revision: int
    domain: Domain
    changes: tuple[tuple[str, Version], ...]


@dataclass(slots=True)
class GroupPlan:
    """The answers in the order of the requests, and what to write for them."""

    revision: int
    """The last one given."""
    answers: list[Versions | Conflict | MetaError] = field(default_factory=list)
    final: dict[Place, tuple[Write, int]] = field(default_factory=dict)
    """Each written key's last write, and its revision."""
    log: list[LoggedCommit] = field(default_factory=list)


def checked_places(requests: Sequence[CommitRequest]) -> set[Place]:
    """Return the keys whose versions must be known to plan."""
    return {(request.domain, check.key) for request in requests for check in request.checks}


def named_sessions(requests: Sequence[CommitRequest]) -> set[SessionId]:
    return {
        write.session
        for request in requests
        for write in request.writes
        if isinstance(write, Put) and write.session is not None
    }


def plan_group(
    requests: Sequence[CommitRequest],
    versions: dict[Place, Version],
    sessions: Set[SessionId],
    revision: int,
) -> GroupPlan:
    """Plan a group, given the checked keys' versions, the sessions that exist and the last revision."""
    plan = GroupPlan(revision)
    present = dict(versions)
    for request in requests:
        plan.answers.append(_judge(request, present, sessions) or _take(request, present, plan))
    return plan


def _judge(
    request: CommitRequest, present: dict[Place, Version], sessions: Set[SessionId]
) -> Conflict | MetaError | None:
    for write in request.writes:
        if isinstance(write, Put) and write.session is not None and write.session not in sessions:
            return SessionExpired(f"session {write.session} has ended; open a new one to put {write.key!r}")
    domain = request.domain
    failed = tuple(
        check.key for check in request.checks if present.get((domain, check.key), ABSENT) != check.version
    )
    return Conflict(failed) if failed else None


def _take(request: CommitRequest, present: dict[Place, Version], plan: GroupPlan) -> Versions:
    if not request.writes:
        return Versions(())
    plan.revision += 1
    version = Version(plan.revision)
    versions = tuple(ABSENT if isinstance(write, Delete) else version for write in request.writes)
    for write, given in zip(request.writes, versions, strict=True):
        place = (request.domain, write.key)
        present[place] = given
        plan.final[place] = (write, version)
    changes = tuple((write.key, given) for write, given in zip(request.writes, versions, strict=True))
    plan.log.append(LoggedCommit(version, request.domain, changes))
    return Versions(versions)
