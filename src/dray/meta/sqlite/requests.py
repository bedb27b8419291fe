"""What the writer thread can be asked to do."""

from dataclasses import dataclass

from dray.meta.port import Check, Conflict, Domain, MetaError, SessionId, Versions, Write


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A commit as the port has it. Answer: `Versions`, `Conflict`, or an error to be raised."""

    domain: Domain
    checks: tuple[Check, ...]
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Answer: True."""

    session: SessionId
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class RenewSession:
    """Answer: whether the session still exists."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class EndSession:
    """Delete the session and its keys; with a beat, only if it has not been renewed since. Answer: True."""

    session: SessionId
    beat: int | None = None


SessionRequest = OpenSession | RenewSession | EndSession
Request = CommitRequest | SessionRequest
Answer = Versions | Conflict | MetaError | bool
