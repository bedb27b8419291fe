"""The commit protocol: each commit happens once, and the client knows whether it did.

A commit is one transaction of etcd. Besides the caller's checks it compares the *slot*, a key of this client
(see `slots`), with the revision R at which the client left it, and with the writes it puts the commit's id
into the slot:

    if      checks hold, slot.mod_revision = R
    then    the writes, put slot := id
    else    read the versions of the checked keys, read the slot

All puts of a transaction have its revision, which is the version of the keys it wrote.

A response may be lost: a timeout, a broken connection, a new leader. The request may have been executed,
or a member may execute it an hour later. Then the client *fences* it:

    if      slot.mod_revision = R
    then    put slot := fence of id
    else    read the slot

- The fence is applied: the commit has not happened, or the slot would have changed. Nor will it: the slot
  now has another revision, and etcd never assigns a revision twice. The client may try again.
- It is not applied, and the slot holds the id: the commit happened, at the slot's revision. Only this client
  writes the slot, and it has used it for nothing else since.
- It is not applied, and the slot holds the fence of the id: an earlier attempt of the fence was applied and
  its response was lost. The commit did not happen.
- It is not applied, and the slot is missing: the lease of the slots has expired, so the client was cut off
  for longer than `slot_ttl_ms`. Whether the commit had happened cannot be known: `OutcomeUnknown`.

The fence may be repeated at any endpoint: only its first execution changes anything. After either outcome
the slot's revision is known again, and the slot serves the next commit.

A transaction that failed only because of the slot, which was lost with its lease, did not happen; it is
repeated with another slot. All this assumes that revisions are never reused, which etcd guarantees unless
an operator restores an old snapshot without `--bump-revision`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dray.ids import Domain
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import TXN
from dray.meta.etcd.endpoints import Endpoints
from dray.meta.etcd.errors import Unanswered
from dray.meta.etcd.keys import Layout
from dray.meta.etcd.sessions import lease_of
from dray.meta.etcd.settings import EtcdMetaSettings
from dray.meta.etcd.slots import Slot, Slots
from dray.meta.port import (
    ABSENT,
    Check,
    Conflict,
    Delete,
    MetaError,
    OutcomeUnknown,
    Put,
    Unavailable,
    Version,
    Versions,
    Write,
)
from dray.runtime import Clock


@dataclass(frozen=True, slots=True)
class _Request:
    """A commit as operations of etcd, without its slot."""

    checks: Sequence[Check]
    writes: Sequence[Write]
    compares: list[api.Compare]
    operations: list[api.RequestOp]
    reads: list[api.RequestOp]
    """Read the versions of the checked keys."""

    def versions(self, revision: int) -> Versions:
        put = Version(revision)
        return Versions(tuple(put if isinstance(write, Put) else ABSENT for write in self.writes))

    def conflict(self, response: api.TxnResponse) -> Conflict:
        """Return the checks that failed, by the versions that the response contains."""
        found = [_found(one) for one in response.responses[: len(self.checks)]]
        present = [ABSENT if one is None else one.mod_revision for one in found]
        return Conflict(
            tuple(check.key for check, now in zip(self.checks, present, strict=True) if now != check.version)
        )


@dataclass(frozen=True, slots=True)
class _Sent:
    """A commit that has been sent with a slot, at the slot's revision."""

    slot: Slot
    revision: int
    commit_id: bytes

    def compare(self) -> api.Compare:
        return _is_at(self.slot.key, self.revision)

    def put(self, value: bytes) -> api.RequestOp:
        put = api.PutRequest(key=self.slot.key, value=value, ignore_lease=True)
        return api.RequestOp(request_put=put)

    def read(self) -> api.RequestOp:
        return _read(self.slot.key)


class Commits:
    """Commits of one client."""

    def __init__(
        self, endpoints: Endpoints, layout: Layout, slots: Slots, clock: Clock, settings: EtcdMetaSettings
    ) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._slots = slots
        self._clock = clock
        self._wait_ms = settings.wait_ms
        self._lookup_ms, self._attempt_ms = settings.lookup_ms, settings.attempt_ms
        self._begun = 0

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        request = self._request(domain, checks, writes)
        if not writes:
            return await self._check_only(request)
        until = self._clock.monotonic() + self._wait_ms / 1000
        timeouts_s = self._timeouts_s()

        async def attempt() -> Versions | Conflict:
            async with self._slots.one() as slot:
                return await self._attempt(request, slot, until, next(timeouts_s))

        return await self._endpoints.retried(attempt, budget_ms=self._wait_ms)

    def _timeouts_s(self) -> Iterator[float]:
        timeout_ms = self._lookup_ms
        while True:
            yield min(timeout_ms, self._attempt_ms) / 1000
            timeout_ms *= 2

    async def _check_only(self, request: _Request) -> Versions | Conflict:
        if not request.checks:
            return Versions(())
        txn = api.TxnRequest(compare=request.compares, failure=request.reads)
        response = await self._endpoints.repeat(TXN, txn)
        return Versions(()) if response.succeeded else request.conflict(response)

    async def _attempt(
        self, request: _Request, slot: Slot, until: float, timeout_s: float
    ) -> Versions | Conflict:
        self._begun += 1
        sent = _Sent(slot, slot.revision or 0, b"%d" % self._begun)
        txn = api.TxnRequest(
            compare=[*request.compares, sent.compare()],
            success=[*request.operations, sent.put(sent.commit_id)],
            failure=[*request.reads, sent.read()],
        )
        slot.revision = None  # not known until there is an answer
        try:
            response = await self._endpoints.call(TXN, txn, timeout_s=timeout_s)
        except Unanswered as lost:
            if lost.sent:
                return request.versions(await self._resolve(sent, until))
            slot.revision = sent.revision
            raise
        except MetaError:
            slot.revision = sent.revision
            raise
        if response.succeeded:
            slot.revision = response.header.revision
            return request.versions(slot.revision)
        return self._failed(request, sent, response)

    def _failed(self, request: _Request, sent: _Sent, response: api.TxnResponse) -> Versions | Conflict:
        found = _found(response.responses[-1])
        if found is not None and found.value == sent.commit_id:
            sent.slot.revision = found.mod_revision
            return request.versions(found.mod_revision)
        if found is not None and found.mod_revision == sent.revision:
            sent.slot.revision = sent.revision
        conflict = request.conflict(response)
        if conflict.keys:
            return conflict
        self._slots.lose(sent.slot)
        raise Unavailable("the commit slots were lost with their lease; nothing happened")

    async def _resolve(self, sent: _Sent, until: float) -> int:
        """Return the revision of a commit that happened; if it has not, fence it and raise `Unavailable`."""
        fence = b"fence of " + sent.commit_id
        txn = api.TxnRequest(compare=[sent.compare()], success=[sent.put(fence)], failure=[sent.read()])
        budget_ms = max(0.0, until - self._clock.monotonic()) * 1000
        try:
            response = await self._endpoints.repeat(TXN, txn, budget_ms=budget_ms)
        except MetaError as error:
            raise OutcomeUnknown(
                f"the response to a commit was lost, and its outcome could not be looked up: {error}"
            ) from error
        if response.succeeded:
            sent.slot.revision = response.header.revision
        else:
            found = _found(response.responses[0])
            if found is None or found.value not in (sent.commit_id, fence):
                self._slots.lose(sent.slot)
                raise OutcomeUnknown("the response to a commit was lost, and so was its slot with its lease")
            sent.slot.revision = found.mod_revision
            if found.value == sent.commit_id:
                return found.mod_revision
        raise Unavailable("the response to a commit was lost; it was fenced and did not happen")

    def _request(self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]) -> _Request:
        entry = self._layout.entry
        keys = {check.key: entry(domain, check.key) for check in checks}  # most are also written
        return _Request(
            checks,
            writes,
            [_is_at(keys[check.key], check.version) for check in checks],
            [_operation(keys.get(write.key) or entry(domain, write.key), write) for write in writes],
            [_read(keys[check.key], keys_only=True) for check in checks],
        )


def _operation(key: bytes, write: Write) -> api.RequestOp:
    if isinstance(write, Delete):
        return api.RequestOp(request_delete_range=api.DeleteRangeRequest(key=key))
    lease = 0 if write.session is None else lease_of(write.session)
    return api.RequestOp(request_put=api.PutRequest(key=key, value=write.value, lease=lease))


def _is_at(key: bytes, revision: int) -> api.Compare:
    return api.Compare(target=api.Compare.MOD, key=key, mod_revision=revision)


def _read(key: bytes, *, keys_only: bool = False) -> api.RequestOp:
    return api.RequestOp(request_range=api.RangeRequest(key=key, keys_only=keys_only))


def _found(response: api.ResponseOp) -> api.KeyValue | None:
    kvs = response.response_range.kvs
    return kvs[0] if kvs else None
