"""Planning of a group of commits against the state of their domain, as values.

Commits of one process that wait for the same domain form a group: one transaction, two requests. Those that
fail their checks or change nothing are answered at once. A commit that shares a key with an earlier one of
the group is left for the next group, because its outcome depends on versions that are not assigned yet.

Each ephemeral key has a second key under the name of its session, written directly after it: so its version
is always one higher, and its deletion can be guarded without reading it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.ids import Domain
from dray.meta.oxia.client import NO_VERSION, Stored
from dray.meta.oxia.keys import data_key, ephemeral_key
from dray.meta.oxia.records import Record, Redo, RedoDelete, RedoPut, decode_record, encode_record
from dray.meta.port import (
    ABSENT,
    Check,
    Conflict,
    MetaError,
    Put,
    SessionExpired,
    SessionId,
    Version,
    Versions,
    Write,
)

_ABSENT_RECORD: Final = Record()


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A commit of the port."""

    checks: tuple[Check, ...]
    writes: tuple[Write, ...]

    def keys(self) -> set[str]:
        return {check.key for check in self.checks} | {write.key for write in self.writes}

    def size(self) -> int:
        return sum(len(write.value) for write in self.writes if isinstance(write, Put))

    def sessions(self) -> set[SessionId]:
        return {
            write.session for write in self.writes if isinstance(write, Put) and write.session is not None
        }


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """Delete these keys as far as they belong to a session that has ended."""

    session: SessionId
    ephemeral: tuple[str, ...]

    def keys(self) -> set[str]:
        return set(self.ephemeral)

    def size(self) -> int:
        return 0

    def sessions(self) -> set[SessionId]:
        return set()


Request = CommitRequest | SweepRequest


@dataclass(frozen=True, slots=True)
class InRedo:
    """The request is part of the transaction; each write is a put of the redo, by index, or a deletion."""

    puts: tuple[int | None, ...]

    def versions(self, applied: int) -> Versions:
        """Return the versions, given the version of the head that the redo was applied with."""
        return Versions(tuple(ABSENT if n is None else port_version(applied + 1 + n) for n in self.puts))


Outcome = Versions | Conflict | MetaError | InRedo | None
"""What becomes of a request; `None`: it is left for the next group."""


@dataclass(slots=True)
class State:
    """The stored keys of a domain that a group reads, by their names in Oxia."""

    domain: Domain
    stored: Mapping[str, Stored]
    dead: frozenset[SessionId] = frozenset()
    """Sessions of the requests that have ended."""

    def of(self, key: str) -> tuple[Stored, Record]:
        """Return a key of the port as it is stored, and its record; a placeholder's counts as absent."""
        stored = self.stored[data_key(self.domain, key)]
        if stored.value is None:
            return stored, _ABSENT_RECORD
        return stored, decode_record(stored.value)

    def version(self, key: str) -> Version:
        stored, record = self.of(key)
        return port_version(stored.version) if exists(stored, record) else ABSENT


@dataclass(slots=True)
class Plan:
    """The outcomes of a group, in order, and the transaction of those in the redo."""

    outcomes: list[Outcome] = field(default_factory=list)
    puts: list[RedoPut] = field(default_factory=list)
    deletes: list[RedoDelete] = field(default_factory=list)
    reservations: dict[str, int] = field(default_factory=dict)
    """Keys to be created, and their current versions."""

    @property
    def redo(self) -> Redo:
        return Redo(tuple(self.puts), tuple(self.deletes))

    @property
    def is_empty(self) -> bool:
        return not self.puts and not self.deletes


def port_version(version: int) -> Version:
    """Oxia counts from 0, which is the port's `ABSENT`."""
    return Version(version + 1)


def exists(stored: Stored, record: Record) -> bool:
    return stored.version != NO_VERSION and record.reserved_by is None


def names_to_read(domain: Domain, requests: Sequence[Request]) -> list[str]:
    """Return the names that the plan of these requests needs."""
    names: dict[str, None] = {}
    for request in requests:
        names.update((data_key(domain, key), None) for key in sorted(request.keys()))
        if isinstance(request, SweepRequest):
            names.update((ephemeral_key(domain, request.session, key), None) for key in request.ephemeral)
    return list(names)


def plan_group(state: State, requests: Sequence[Request]) -> Plan:
    plan, touched = Plan(), set[str]()
    for request in requests:
        if touched & request.keys():
            plan.outcomes.append(None)
            touched |= request.keys()  # commits that share a key keep their order
            continue
        if isinstance(request, CommitRequest):
            outcome = _commit(plan, state, request)
        else:
            outcome = _sweep(plan, state, request)
        plan.outcomes.append(outcome)
        if isinstance(outcome, InRedo):
            touched |= request.keys()
    return plan


def _commit(plan: Plan, state: State, request: CommitRequest) -> Outcome:
    expired = sorted(request.sessions() & state.dead)
    if expired:
        return SessionExpired(f"session {expired[0]} has ended; open a new one")
    failed = tuple(check.key for check in request.checks if state.version(check.key) != check.version)
    if failed:
        return Conflict(failed)
    operations = len(plan.puts) + len(plan.deletes)
    puts = tuple(_write(plan, state, write) for write in request.writes)
    if operations == len(plan.puts) + len(plan.deletes):
        return Versions(tuple(ABSENT for _ in puts))
    return InRedo(puts)


def _write(plan: Plan, state: State, write: Write) -> int | None:
    """Add a write; return the index of its put."""
    stored, record = state.of(write.key)
    name = data_key(state.domain, write.key)
    if not isinstance(write, Put):
        if stored.version != NO_VERSION:
            plan.deletes.append(RedoDelete(name, stored.version))
            _disown(plan, state, write.key, stored, record)
        return None
    index = len(plan.puts)
    value = encode_record(write.value, write.session)
    if exists(stored, record):
        plan.puts.append(RedoPut(name, value, stored.version))
    else:
        plan.puts.append(RedoPut(name, value, None))
        plan.reservations[name] = stored.version
    if write.session is None:
        _disown(plan, state, write.key, stored, record)
    else:
        _own(plan, state, write.key, write.session, (stored, record))
    return index


def _own(plan: Plan, state: State, key: str, session: SessionId, found: tuple[Stored, Record]) -> None:
    """Write the session's key directly after the ephemeral key."""
    stored, record = found
    name = ephemeral_key(state.domain, session, key)
    if record.session == session:
        plan.puts.append(RedoPut(name, encode_record(b""), stored.version + 1))
        return
    plan.puts.append(RedoPut(name, encode_record(b""), None))
    plan.reservations[name] = NO_VERSION
    _disown(plan, state, key, stored, record)


def _disown(plan: Plan, state: State, key: str, stored: Stored, record: Record) -> None:
    if record.session is not None:
        name = ephemeral_key(state.domain, record.session, key)
        plan.deletes.append(RedoDelete(name, stored.version + 1))


def _sweep(plan: Plan, state: State, request: SweepRequest) -> Outcome:
    operations = len(plan.deletes)
    for key in request.ephemeral:
        stored, record = state.of(key)
        if record.session == request.session:
            plan.deletes.append(RedoDelete(data_key(state.domain, key), stored.version))
        listed = state.stored[ephemeral_key(state.domain, request.session, key)]
        if listed.version != NO_VERSION:
            plan.deletes.append(RedoDelete(listed.key, listed.version))
    return Versions(()) if operations == len(plan.deletes) else InRedo(())
