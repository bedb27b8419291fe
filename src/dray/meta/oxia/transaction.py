"""Transactions of a domain: atomic, exactly once, on a store whose requests are neither.

Oxia executes the operations of one request atomically, but each under a condition of its own: if one fails,
the others are applied. Any request may be executed late, or twice, when its response is lost. So every
domain has a *head*, and a transaction takes two requests:

    decide   head := {redo, pending} if the head has version h; placeholders of the keys to be created
    apply    head := {applied} if it has version p; every operation of the redo, guarded by a version

Once `decide` is executed the transaction is committed: no other can be decided until it is applied, and any
process can apply it. It becomes visible with `apply`, which readers see as a whole or not at all, because
one request is one write of the shard. They read keys, never heads.

**Versions.** A shard gives every successful put a new version, in the order of the puts, and never the same
one again. So a guard that names a version holds until that version is replaced, and then never again.
`apply` puts the head first, so the version of each other put follows from the head's, whichever process
applied it.

**Keys to be created** have no version to guard their creation: "must not exist" holds again after a
deletion, and a late `apply` would restore the key. Therefore `decide` creates a *placeholder*, a record
with the id of the transaction that reads as absent, and `apply` replaces its version.

**Invariants.** A transaction is *pending* while the head has its version p. Below, "garbage" is a
placeholder whose transaction is not pending; nothing depends on it.

1. Keys of a domain change only by an `apply`, apart from placeholders that appear on absent keys, replace
   garbage, or are removed as garbage. Ephemeral keys are ordinary keys: see `dray.meta.oxia.sessions`.
2. While a transaction is pending, its placeholders are stable. Others replace or delete a placeholder only
   if they saw it as garbage: in a view (no transaction is pending during it), during the pendency of
   another transaction (there is only one), or as their own after they looked up that their attempt is not
   committed. The owner never replaces one, and helpers create them only where there is none.
3. All requests that apply a transaction have the same guards. For a placeholder that is because each of
   them was read while the transaction was pending: its version comes from the response of `decide`, or it
   was read *before* the head, and the head still had version p.

So the first `apply` to be executed finds all its guards true, and consumes them all: it applies everything,
every later one nothing. (A deletion may name garbage, which is as well deleted by its owner.)

**Views.** A view reads the head, the keys and the head again. If both heads have version h and no redo,
nothing was pending in between and the keys are the state at h; `decide` succeeds only if that is still the
state.

**Every point of failure.**

- A crash before `decide`, or a `decide` that fails: nothing is committed; garbage may remain.
- A crash after `decide`: the next writer finds the redo and applies it, with placeholders of its own if
  some are missing.
- `decide` arrives late or twice: its guard h is consumed, by itself or another; its placeholders may appear
  as garbage on absent keys.
- `apply`, a claim of placeholders or a clean-up arrives late or twice: its guards are consumed; a claim may
  leave garbage on an absent key.
- The response of `decide` is lost: the head is read. If it names the attempt, it is committed. If the head
  still has version h, it is written again unchanged, which consumes h: then the attempt is fenced.
  Otherwise another one was decided at h. The head remembers the last transaction of each of 64 writers, and
  a writer looks up one attempt before it makes the next; a writer that was displaced gets `OutcomeUnknown`.
- The response of `apply` is lost: the head is read; if the transaction is still pending, `apply` is
  repeated.
- The leader changes: the log decides what was executed, and all of the above is about what was executed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dray.ids import Domain
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.client import NO_VERSION, OxiaClient, Stored
from dray.meta.oxia.keys import head_key
from dray.meta.oxia.plan import Plan
from dray.meta.oxia.records import (
    Head,
    Redo,
    TransactionId,
    decode_head,
    decode_record,
    encode_head,
    encode_placeholder,
    reserves,
)
from dray.meta.port import OutcomeUnknown, StoreUnusable, Unavailable
from dray.observe import get_logger

_log = get_logger("meta")
_CLAIMS_MAX: Final = 8
_INTERFERENCE: Final = (
    "{key!r} was changed by something other than Dray; restore the namespace, which must belong to Dray alone"
)


class HeadMoved(Unavailable):
    """Another process has changed the head in the meantime; look again."""


@dataclass(frozen=True, slots=True)
class HeadAt:
    """A head and its version."""

    head: Head
    version: int


@dataclass(frozen=True, slots=True)
class View:
    """A consistent state of some keys, or, while a transaction is pending, only the head."""

    at: HeadAt
    stored: dict[str, Stored]


@dataclass(slots=True)
class Attempt:
    """One transaction of this process; `garbage` are placeholders to remove if it is not committed."""

    id: TransactionId
    base: HeadAt
    plan: Plan
    garbage: dict[str, int]

    @property
    def pending(self) -> Head:
        return self.base.head.with_pending(self.base.version, self.id, self.plan.redo)


class Transactions:
    """The transactions of one domain. Every method makes one attempt and may raise `Unavailable`."""

    def __init__(self, client: OxiaClient, domain: Domain) -> None:
        self._client = client
        self._head = head_key(domain)

    async def shard(self) -> int:
        return await self._client.shard_of(self._head)

    async def head(self) -> HeadAt:
        (stored,) = await self._read([self._head])
        return _head_at(stored)

    async def view(self, names: Sequence[str]) -> View:
        """Read keys; raises `HeadMoved` if they changed meanwhile."""
        before, *stored, after = await self._read([self._head, *names, self._head])
        if before.version != after.version:
            raise HeadMoved("the domain changed while it was read")
        return View(_head_at(before), {found.key: found for found in stored})

    async def commit(self, attempt: Attempt) -> int:
        """Decide and apply; return the version of the head it was applied with. May only be called once.

        After `Unavailable` the outcome is unknown; `settle` reveals it.
        """
        decide = [self._put(self._head, encode_head(attempt.pending), attempt.base.version)]
        placeholder = encode_placeholder(attempt.id)
        names = list(attempt.plan.reservations)
        decide += [self._put(name, placeholder, attempt.plan.reservations[name]) for name in names]
        head, *made = (await self._write(decide)).puts
        reserved = _versions(names, made)
        if head.status != api.OK:
            attempt.garbage = reserved
            raise HeadMoved("another transaction was faster")
        pending = HeadAt(attempt.pending, head.version.version_id)
        return await self.apply(pending, reserved if len(reserved) == len(names) else None)

    async def settle(self, attempt: Attempt) -> int | None:
        """Look up an attempt; apply it if it is pending, fence it if it may still be executed.

        Returns the version of the head that it was applied with, or None if it is not and never will be
        committed.
        """
        at = await self.head()
        done = at.head.find(attempt.id)
        if done is not None:
            if at.head.redo is not None and at.head.committed[-1] == done:
                return await self.apply(at)
            return at.version if done.applied is None else done.applied
        if at.version == attempt.base.version:
            await self._fence(at)
        elif at.head.evicted > attempt.base.head.number:
            raise OutcomeUnknown("the outcome of a commit is no longer known to the head of its domain")
        return None

    async def apply(self, pending: HeadAt, reserved: dict[str, int] | None = None) -> int:
        """Apply a pending transaction; return the version that the head got."""
        redo = pending.head.redo
        assert redo is not None
        if reserved is None:
            reserved = await self._reserve(pending, redo)
        puts = [self._put(self._head, encode_head(pending.head.applied()), pending.version)]
        puts += [
            self._put(put.key, put.value, reserved[put.key] if put.expected is None else put.expected)
            for put in redo.puts
        ]
        deletes = [
            api.DeleteRequest(key=gone.key, expected_version_id=gone.expected) for gone in redo.deletes
        ]
        response = await self._write(puts, deletes)
        if response.puts[0].status != api.OK:
            raise HeadMoved("another process has applied the transaction")
        applied = response.puts[0].version.version_id
        self._verify(redo, response, applied)
        return applied

    async def clean_up(self, garbage: dict[str, int]) -> None:
        """Delete placeholders of attempts that were not committed."""
        deletes = [
            api.DeleteRequest(key=name, expected_version_id=version) for name, version in garbage.items()
        ]
        await self._write([], deletes)

    async def _fence(self, at: HeadAt) -> None:
        """Give the head a new version, so that what expects the present one cannot be executed."""
        put = self._put(self._head, encode_head(at.head.settled(at.version)), at.version)
        (response,) = (await self._write([put])).puts
        if response.status != api.OK:
            raise HeadMoved("the head changed before it was fenced")

    async def _reserve(self, pending: HeadAt, redo: Redo) -> dict[str, int]:
        """Return the versions of the placeholders, which are created where they are missing."""
        names = [put.key for put in redo.puts if put.expected is None]
        placeholder = encode_placeholder(pending.head.committed[-1].id)
        for _ in range(_CLAIMS_MAX):
            *found, head = await self._read([*names, self._head])
            if head.version != pending.version:
                raise HeadMoved("another process has applied the transaction")
            missing = [stored for stored in found if not self._is_reserved(stored, pending)]
            if not missing:
                return {stored.key: stored.version for stored in found}
            await self._write([self._put(stored.key, placeholder, stored.version) for stored in missing])
        raise Unavailable("could not reserve the keys of a transaction")

    def _is_reserved(self, stored: Stored, pending: HeadAt) -> bool:
        """Whether the placeholder is the transaction's; raises unless it is missing or garbage."""
        if stored.value is None:
            return False
        record = decode_record(stored.value)
        if record.reserved_by is None:
            raise self._interfered(stored.key)
        return reserves(record, pending.head.committed[-1].id)

    def _verify(self, redo: Redo, response: api.WriteResponse, applied: int) -> None:
        """Raise if a put was not applied, although the head was. (A deletion may be of garbage.)"""
        for number, (put, done) in enumerate(zip(redo.puts, response.puts[1:], strict=True), 1):
            if done.status != api.OK or done.version.version_id != applied + number:
                raise self._interfered(put.key)

    def _interfered(self, key: str) -> StoreUnusable:
        _log.error("metadata_changed_by_others", head=self._head, key=key)
        return StoreUnusable(_INTERFERENCE.format(key=key))

    def _put(self, key: str, value: bytes, expected: int) -> api.PutRequest:
        return api.PutRequest(key=key, value=value, expected_version_id=expected, partition_key=self._head)

    async def _read(self, names: Sequence[str]) -> list[Stored]:
        return await self._client.read(await self.shard(), names)

    async def _write(
        self, puts: Iterable[api.PutRequest], deletes: Iterable[api.DeleteRequest] = ()
    ) -> api.WriteResponse:
        return await self._client.write(await self.shard(), api.WriteRequest(puts=puts, deletes=deletes))


def _head_at(stored: Stored) -> HeadAt:
    if stored.value is None:
        return HeadAt(Head(), NO_VERSION)
    return HeadAt(decode_head(stored.value), stored.version)


def _versions(names: Sequence[str], made: Iterable[api.PutResponse]) -> dict[str, int]:
    return {
        name: put.version.version_id for name, put in zip(names, made, strict=True) if put.status == api.OK
    }
