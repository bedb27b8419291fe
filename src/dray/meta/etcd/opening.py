"""Checks when the store is opened: etcd's version, whose keys the prefix holds, and the size of transactions.

The key `<prefix>/format` marks a prefix of Dray with the version of its layout. It is created only under an
empty prefix, in one transaction with the check that it is empty.
"""

import re
from typing import Final

from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import STATUS, TXN
from dray.meta.etcd.endpoints import Endpoints
from dray.meta.etcd.errors import PermissionDenied, Untrusted
from dray.meta.etcd.keys import FORMAT, Layout
from dray.meta.grpc_tls import connection_hint
from dray.meta.port import CommitLimits, CommitTooLarge, StoreUnusable, Unavailable

_OLDEST: Final = (3, 5, 8)
"""Earlier versions may report more progress of a watch than they have sent events for."""
_LIKELY_OPERATIONS_MAX: Final = 128
_OPERATIONS_MAX: Final = 2_048
_OPERATIONS_MIN: Final = 16
_SLOT_OPERATIONS: Final = 1
_UNREACHABLE: Final = "check metadata.url, and that etcd is running"
_TIMES_SENT: Final = 3
"""A check is sent as a comparison and a read; both have its key, and so has a write of it."""


async def open_prefix(endpoints: Endpoints, layout: Layout) -> None:
    """Require a usable etcd and a prefix of this layout, which is created if it is empty."""
    await _require_trusted(endpoints)
    try:
        found = await _format(endpoints, layout)
    except Unavailable as error:
        raise Unavailable(f"{error}; {connection_hint(str(error), _UNREACHABLE)}") from error
    if found != b"%d" % FORMAT:
        raise StoreUnusable(_wrong_format(layout.prefix, found))


async def limits(endpoints: Endpoints, layout: Layout, request_bytes_max: int) -> CommitLimits:
    """Return the limits of a commit: operations by what etcd allows, bytes by the setting."""
    overhead = _TIMES_SENT * layout.overhead()
    allowed = await _operations_max(endpoints, layout)
    operations = min(allowed, request_bytes_max // 2 // overhead) - _SLOT_OPERATIONS
    size = request_bytes_max - (operations + _SLOT_OPERATIONS) * overhead
    return CommitLimits(checks_max=operations, writes_max=operations, bytes_max=size)


async def _require_trusted(endpoints: Endpoints) -> None:
    """Try each endpoint once; raise `StoreUnusable` if none can be trusted, or etcd is too old."""
    for number, address in enumerate(endpoints.addresses, 1):
        try:
            status = await endpoints.call(STATUS, api.StatusRequest())
        except Untrusted as error:
            if number == len(endpoints.addresses):
                raise StoreUnusable(str(error)) from error
        except (Unavailable, PermissionDenied):
            return  # not answered yet; or the version is for administrators only
        else:
            _require_version(status.version, address)
            return


def _require_version(version: str, address: str) -> None:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if numbers < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise StoreUnusable(f"etcd at {address} has version {version}; upgrade it to {oldest} or later")


async def _format(endpoints: Endpoints, layout: Layout) -> bytes | None:
    """Return the value of the marker, which is created under an empty prefix; None if other keys exist."""
    first, after = layout.everything
    any_key = api.RangeRequest(key=first, range_end=after, limit=1, keys_only=True)
    found = await endpoints.repeat(TXN, _unless_marked(layout, api.RequestOp(request_range=any_key)))
    if found.succeeded and found.responses[0].response_range.kvs:
        return None
    if not found.succeeded:
        return _marker(found)
    put = api.PutRequest(key=layout.format, value=b"%d" % FORMAT)
    created = await endpoints.repeat(TXN, _unless_marked(layout, api.RequestOp(request_put=put)))
    return b"%d" % FORMAT if created.succeeded else _marker(created)


def _unless_marked(layout: Layout, operation: api.RequestOp) -> api.TxnRequest:
    """Return a transaction that executes `operation` if there is no marker, and else reads it."""
    absent = api.Compare(target=api.Compare.MOD, key=layout.format, mod_revision=0)
    read = api.RequestOp(request_range=api.RangeRequest(key=layout.format))
    return api.TxnRequest(compare=[absent], success=[operation], failure=[read])


def _marker(response: api.TxnResponse) -> bytes:
    return response.responses[0].response_range.kvs[0].value


def _wrong_format(prefix: str, found: bytes | None) -> str:
    if found is None:
        return (
            f"the keys under {prefix}/ in etcd belong to another application; "
            "choose another prefix in metadata.url"
        )
    return (
        f"the keys under {prefix}/ in etcd have format {found.decode(errors='replace')}, this build of Dray "
        f"reads {FORMAT} only: use the Dray that wrote them"
    )


async def _operations_max(endpoints: Endpoints, layout: Layout) -> int:
    """Return a number of operations that one transaction may have, found by comparisons without effect."""
    allowed = _LIKELY_OPERATIONS_MAX
    while not await _allows(endpoints, layout, allowed):
        allowed //= 2
        if allowed < _OPERATIONS_MIN:
            raise StoreUnusable("etcd allows too few operations per transaction; raise --max-txn-ops to 128")
    while allowed < _OPERATIONS_MAX and await _allows(endpoints, layout, allowed * 2):
        allowed *= 2
    return allowed


async def _allows(endpoints: Endpoints, layout: Layout, operations: int) -> bool:
    never = api.Compare(target=api.Compare.VERSION, key=layout.format, version=-1)
    try:
        await endpoints.repeat(TXN, api.TxnRequest(compare=[never] * operations))
    except CommitTooLarge:
        return False
    return True
