"""Restores of the metadata store from a backup, as both stores of the cluster record them.

*Marker*: in every domain of a store that is being restored. Brokers refuse a store with the marker of the
cluster domain; each commit of the restore checks the marker of its domain, so that of two restores into one
store only the later one continues.

*Generation*: how often the cluster's metadata was restored, in the cluster record. Each restore first puts an
object with the next number into the object store, which decides between concurrent restores, and then
completes the record with it. A metadata store whose record is followed by a later generation is superseded:
it does not know the objects that were committed through its successor, and would sweep them.
"""

from typing import Final

import msgspec

from dray.index.stored import decoded
from dray.objects.port import NotFound, ObjectStore

_FOLDER: Final = "dray-cluster/"
_SUFFIX: Final = ".json"


class RestoreMarker(msgspec.Struct, frozen=True, array_like=True, tag="rm1"):
    """A restore that has begun and is not complete."""

    attempt: str
    """Unique; a restore that is started again is another attempt."""
    backup_id: str
    begun_at_ms: int
    domains: int
    """Number of meta domains that it writes to."""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """The object that announces a restore; JSON."""

    cluster_id: str
    generation: int
    backup_id: str
    restored_at_ms: int
    metadata: str
    """URL of the metadata store that was restored into."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(RestoreMarker)


def encode_marker(marker: RestoreMarker) -> bytes:
    return _encoder.encode(marker)


def decode_marker(key: str, value: bytes) -> RestoreMarker:
    return decoded(_decoder, key, value, "the marker of a restore")


def generation_path(number: int) -> str:
    return f"{_FOLDER}generation-{number:08d}{_SUFFIX}"


async def newest_generation(objects: ObjectStore) -> int:
    """Return the number of the last restore, complete or not; 0 if there was none."""
    numbers = [0]
    async for info in objects.list(f"{_FOLDER}generation-"):
        text = info.path.rpartition("-")[2].removesuffix(_SUFFIX)
        number = int(text) if text.isdecimal() else 0
        if info.path == generation_path(number):
            numbers.append(number)
    return max(numbers)


async def announce(objects: ObjectStore, generation: Generation) -> None:
    """Raises `AlreadyExists` if another restore has taken this number."""
    await objects.put_new(generation_path(generation.generation), [msgspec.json.encode(generation)])


async def successor(objects: ObjectStore, number: int) -> Generation | None:
    """Return the last restore that superseded the metadata of this generation, or None.

    The next number may be missing: its restore was repeated, and an operator deleted what the first one left.
    """
    while (newest := await newest_generation(objects)) > number:
        try:
            data = await objects.get(generation_path(newest))
        except NotFound:
            continue  # deleted since it was listed
        try:
            return msgspec.json.decode(data, type=Generation)
        except msgspec.DecodeError:  # of a newer Dray, or damaged; what counts is that it exists
            return Generation(cluster_id="", generation=newest, backup_id="", restored_at_ms=0, metadata="")
    return None
