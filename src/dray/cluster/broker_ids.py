"""Broker ids: given by the operator, or assigned by the metadata store.

One key per id claims it for an advertised address. A broker without a configured id takes the one that its
address has claimed before, or the lowest one without a claim. A claim stays when the broker stops: a restart
gets the same id, and the id of a paused broker is never assigned to another. A configured id takes over the
claim, so an operator can assign ids at any time.

A claim does not say that the broker is alive; that is what `brokers.Registration` is for.
"""

from itertools import count

import msgspec

from dray.cluster.addresses import Address
from dray.index import CorruptValue
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, broker_id_key, broker_ids_range
from dray.meta.port import ABSENT, Check, Conflict, Entry, MetaStore, Put
from dray.observe import get_logger

_log = get_logger("cluster")


class BrokerIdClaim(msgspec.Struct, frozen=True, array_like=True, tag="i1"):
    """The broker that an id belongs to."""

    host: str
    port: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(BrokerIdClaim)


async def claim_broker_id(meta: MetaStore, wanted: int | None, address: Address) -> int:
    """Return the id of the broker at this address: the wanted one, or without one, an assigned one."""
    while True:
        claims = {_id_of(entry): entry for entry in await meta.scan(CLUSTER_DOMAIN, *broker_ids_range())}
        mine = BrokerIdClaim(address.host, address.port)
        broker_id = _assigned(claims, mine) if wanted is None else wanted
        held = claims.get(broker_id)
        if held is not None and _claim_in(held) == mine:
            return broker_id
        check = Check(broker_id_key(broker_id), ABSENT if held is None else held.version)
        put = Put(check.key, _encoder.encode(mine))
        if not isinstance(await meta.commit(CLUSTER_DOMAIN, [check], [put]), Conflict):
            return broker_id


def _assigned(claims: dict[int, Entry], mine: BrokerIdClaim) -> int:
    """Return the lowest id that the address has claimed, else the lowest that is free."""
    own = [broker_id for broker_id, entry in claims.items() if _claim_in(entry) == mine]
    return min(own) if own else next(broker_id for broker_id in count(1) if broker_id not in claims)


def _id_of(entry: Entry) -> int:
    return int(entry.key.rpartition("/")[2])


def _claim_in(entry: Entry) -> BrokerIdClaim | None:
    """Decode a claim; an id with a corrupt one is still taken."""
    try:
        return decoded(_decoder, entry.key, entry.value, "the claim of a broker id")
    except CorruptValue as error:
        _log.error("value_corrupt", error=str(error))
        return None
