"""What the metadata store knows of Parquet files, from the birth of their entry until they are deleted.

    written ──swap──▶ in index and table ──entry gone──▶ in table only ──table commit──▶ in neither
       └──no job knows it, older than the orphan time──▶ nothing ◀──────────grace over─────────┘

A file is named by its job until the swap puts its record and its entry, in one commit. The one that removes
the entry turns the record into a mark; the mark says whether the table still names the file. Only one that is
in neither may be deleted. A file's name tells its stream, so what no record names can be looked up.
"""

import msgspec

from dray.ids import FileId, MetaDomain, StreamId, TopicRef
from dray.index.keys import ROOT, children
from dray.index.stored import decoded, of_kind

FILES_PREFIX = "compaction/v1/"
_FILE, _KEYS = ".parquet", ".keys"


class ParquetFile(msgspec.Struct, frozen=True, array_like=True, tag="f1"):
    """A Parquet file that an index entry points to."""

    path: str
    stream: StreamId
    topic: TopicRef
    created_at_ms: int
    size_bytes: int


class FileGcMarker(msgspec.Struct, frozen=True, array_like=True, tag="d1"):
    """A Parquet file that no index entry points to any more."""

    path: str
    stream: StreamId
    topic: TopicRef
    delete_after_ms: int
    in_table: bool


_Value = ParquetFile | FileGcMarker
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[_Value] = msgspec.msgpack.Decoder(_Value)


def encode_file(value: _Value) -> bytes:
    return _encoder.encode(value)


def decode_file(key: str, value: bytes) -> ParquetFile:
    return of_kind(ParquetFile, _decode(key, value), key, "a Parquet file's record")


def decode_file_gc(key: str, value: bytes) -> FileGcMarker:
    return of_kind(FileGcMarker, _decode(key, value), key, "a deletion marker")


def _decode(key: str, value: bytes) -> _Value:
    return decoded(_decoder, key, value, "anything about a Parquet file")


def file_key(domain: MetaDomain, file: FileId) -> str:
    return f"{ROOT}/parquet/files/{domain}/{file.hex()}"


def file_gc_key(domain: MetaDomain, file: FileId) -> str:
    return f"{ROOT}/parquet/gc/{domain}/{file.hex()}"


def file_gc_range(domain: MetaDomain) -> tuple[str, str]:
    """Return the scan that covers all deletion marks of a domain."""
    return children(f"{ROOT}/parquet/gc/{domain}/")


def file_path(topic: str, partition: int, date: str, stream: StreamId, file: FileId) -> str:
    """Return the file's path; `date` is YYYY/MM/DD. Topic, partition and date are for people to read."""
    return f"{FILES_PREFIX}topic={topic}/partition={partition}/date={date}/{_stem(stream, file)}{_FILE}"


def keys_path(path: str) -> str:
    """Return the path of an object for the time of a job: what is in it is for the file of `path`."""
    return path.removesuffix(_FILE) + _KEYS


def path_beside(path: str, stream: StreamId, file: FileId) -> str:
    """Return the path of another file of the same stream and kind in the same folder."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{_stem(stream, file)}{name[name.rindex('.') :]}"


def parse_file_path(path: str) -> tuple[StreamId, FileId] | None:
    """Return which file a path belongs to, or None when it is neither a Parquet file nor a job's object."""
    if not (path.startswith(FILES_PREFIX) and path.endswith((_FILE, _KEYS))):
        return None
    stream, _, file = path.rpartition("/")[2].rpartition(".")[0].partition("-")
    try:
        return StreamId(int(stream, 16)), FileId(bytes.fromhex(file))
    except ValueError:
        return None


def _stem(stream: StreamId, file: FileId) -> str:
    return f"{stream:016x}-{file.hex()}"
