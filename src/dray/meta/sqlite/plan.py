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

Versioned = dict[str, Version]
"""Versions by key, of one domain."""


@dataclass(slots=True)
class GroupPlan:
    """The responses in the order of the requests, and the writes."""

    revision: int
    """The last revision assigned."""
    responses: list[Versions | Conflict | MetaError] = field(default_factory=list)
    final: dict[Domain, dict[str, tuple[Write, int]]] = field(default_factory=dict)
    """The last write of each key, and its revision, by domain."""
    log: list[LoggedCommit] = field(default_factory=list)


def checked_keys(requests: Sequence[CommitRequest]) -> dict[Domain, set[str]]:
    """Return the keys whose versions the plan needs, by domain."""
    keys: dict[Domain, set[str]] = {}
    for request in requests:
        keys.setdefault(request.domain, set()).update([check.key for check in request.checks])
    return keys


def named_sessions(requests: Sequence[CommitRequest]) -> set[SessionId]:
    return {
        write.session
        for request in requests
        for write in request.writes
        if isinstance(write, Put) and write.session is not None
    }


def plan_group(
    requests: Sequence[CommitRequest],
    versions: dict[Domain, Versioned],
    sessions: Set[SessionId],
    revision: int,
) -> GroupPlan:
    """Plan a group, given the versions of the checked keys, the existing sessions and the last revision.

    Moves `versions` on to those after the group.
    """
    plan = GroupPlan(revision)
    for request in requests:
        present = versions.setdefault(request.domain, {})
        plan.responses.append(_check(request, present, sessions) or _apply(request, present, plan))
    return plan


def _check(
    request: CommitRequest, present: Versioned, sessions: Set[SessionId]
) -> Conflict | MetaError | None:
    for write in request.writes:
        if isinstance(write, Put) and write.session is not None and write.session not in sessions:
            return SessionExpired(f"session {write.session} has ended; open a new one to put {write.key!r}")
    failed = tuple([check.key for check in request.checks if present.get(check.key, ABSENT) != check.version])
    return Conflict(failed) if failed else None


def _apply(request: CommitRequest, present: Versioned, plan: GroupPlan) -> Versions:
    if not request.writes:
        return Versions(())
    plan.revision += 1
    version = Version(plan.revision)
    changes = tuple(
        [(write.key, ABSENT if isinstance(write, Delete) else version) for write in request.writes]
    )
    present.update(changes)
    final = plan.final.setdefault(request.domain, {})
    final.update([(write.key, (write, version)) for write in request.writes])
    plan.log.append(LoggedCommit(version, request.domain, changes))
    return Versions(tuple([given for _, given in changes]))
