"""Producer snapshots: the encoded state of all producers of a stream at one offset, and its expiry.

The state at a later offset is the snapshot with the batches of later index entries applied by `accepted`, in
their order.
"""

from collections.abc import Iterable, Mapping

import msgspec

from dray.producers.state import ProducerState

ProducerTable = Mapping[int, ProducerState]
"""Producer id to state. Never changed in place, so that a failed plan has no effect."""


class ProducerSnapshot(msgspec.Struct, frozen=True, array_like=True, tag="p1"):
    """The producers of a stream, by producer id."""

    producers: tuple[ProducerState, ...]


class CorruptSnapshot(Exception):
    """The stored bytes are not a producer snapshot."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ProducerSnapshot)


def encode_snapshot(table: ProducerTable) -> bytes:
    return _encoder.encode(ProducerSnapshot(tuple(sorted(table.values(), key=_producer_id))))


def decode_snapshot(value: bytes) -> dict[int, ProducerState]:
    try:
        return {state.producer_id: state for state in _decoder.decode(value).producers}
    except msgspec.DecodeError as error:
        raise CorruptSnapshot(str(error)) from error


def unexpired(table: ProducerTable, now_ms: int, expiry_ms: int) -> dict[int, ProducerState]:
    """Return the producers whose last batch is not older than `expiry_ms`."""
    return dict(_unexpired(table.values(), now_ms - expiry_ms))


def _unexpired(states: Iterable[ProducerState], oldest_ms: int) -> Iterable[tuple[int, ProducerState]]:
    return ((state.producer_id, state) for state in states if state.seen_at_ms > oldest_ms)


def _producer_id(state: ProducerState) -> int:
    return state.producer_id
