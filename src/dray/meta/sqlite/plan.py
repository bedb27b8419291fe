"""Plan of one transaction for a group of commits. Pure.

The commits are checked one after the other, each against the state that the earlier ones leave. Only the
final state of each key is written. So a group costs a few statements regardless of its size, a failed check
affects no other commit, and nothing has to be rolled back.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from dray.ids import Domain
from dray.meta.port import (
    ABSENT,
    Conflict,
    Delete,
    MetaError,
    Put,
    SessionExpired,
    SessionId,
    Version,
    Versions,
    Write,
)
from dray.meta.sqlite.requests import CommitRequest
from dray.meta.watching import LoggedCommit

Place = tuple[Domain, str]


@dataclass(slots=True)
class GroupPlan:
    """The responses in the order of the requests, and the writes."""

    revision: int
    """The last revision assigned."""
    responses: list[Versions | Conflict | MetaError] = field(default_factory=list)
    final: dict[Place, tuple[Write, int]] = field(default_factory=dict)
    """The last write of each key, and its revision."""
    log: list[LoggedCommit] = field(default_factory=list)


def checked_places(requests: Sequence[CommitRequest]) -> set[Place]:
    """Return the keys whose versions the plan needs."""
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
    """Plan a group, given the versions of the checked keys, the existing sessions and the last revision."""
    plan = GroupPlan(revision)
    present = dict(versions)
    for request in requests:
        plan.responses.append(_check(request, present, sessions) or _apply(request, present, plan))
    return plan


def _check(
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


def _apply(request: CommitRequest, present: dict[Place, Version], plan: GroupPlan) -> Versions:
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
