"""Records of Parquet files in the metadata store, from the swap until their deletion.

    written ──swap──▶ in index and table ──entry removed──▶ in table only ──table commit──▶ in neither
       └──unknown to any job, older than the orphan TTL──▶ deleted ◀──────grace period over────┘

Only the job references a file until the swap writes its record and its entry, in one commit. The commit that
removes the entry turns the record into a deletion marker, which says whether the table still references the
file. Only a file in neither may be deleted. A file's name contains its stream, so that the stream of a file
without a record is known.
"""

import msgspec

from dray.ids import FileId, StreamId, TopicRef
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
    """A Parquet file whose index entry was removed."""

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
    return of_kind(ParquetFile, _decode(key, value), key, "a Parquet file record")


def decode_file_gc(key: str, value: bytes) -> FileGcMarker:
    return of_kind(FileGcMarker, _decode(key, value), key, "a deletion marker")


def _decode(key: str, value: bytes) -> _Value:
    return decoded(_decoder, key, value, "a Parquet file record")


def file_path(topic: str, partition: int, date: str, stream: StreamId, file: FileId) -> str:
    """Return the file's path; `date` is YYYY/MM/DD. Topic, partition and date are only informative."""
    return f"{FILES_PREFIX}topic={topic}/partition={partition}/date={date}/{_stem(stream, file)}{_FILE}"


def keys_path(path: str) -> str:
    """Return the path of the temporary object in which a job keeps the keys of the file at `path`."""
    return path.removesuffix(_FILE) + _KEYS


def path_beside(path: str, stream: StreamId, file: FileId) -> str:
    """Return the path of another file of the same kind in the same folder."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{_stem(stream, file)}{name[name.rindex('.') :]}"


def parse_file_path(path: str) -> tuple[StreamId, FileId] | None:
    """Return the file that a path belongs to, or None if it is neither a Parquet file nor a job's object."""
    if not (path.startswith(FILES_PREFIX) and path.endswith((_FILE, _KEYS))):
        return None
    stream, _, file = path.rpartition("/")[2].rpartition(".")[0].partition("-")
    try:
        return StreamId(int(stream, 16)), FileId(bytes.fromhex(file))
    except ValueError:
        return None


def _stem(stream: StreamId, file: FileId) -> str:
    return f"{stream:016x}-{file.hex()}"
