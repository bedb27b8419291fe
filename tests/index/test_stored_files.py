"""Encoding of stored records of Parquet files and compaction jobs, which never changes."""

import msgspec

from dray.ids import FileId, StreamId, TopicRef
from dray.index import (
    CompactedRange,
    CompactionJob,
    FileGcMarker,
    FileRef,
    GroupRow,
    JobState,
    KeyCompactionCycle,
    KeyCompactionState,
    ParquetEntry,
    ParquetFile,
    Replaced,
    SkippedRange,
    decode_entry,
    decode_file,
    decode_file_gc,
    decode_job,
    encode_entry,
    encode_file,
    encode_job,
    file_path,
    keys_path,
    pack_groups,
    parse_file_path,
    path_beside,
)

STREAM, FILE, TOPIC = StreamId(7), FileId(bytes(range(16))), TopicRef("t", bytes(16))
GROUPS = pack_groups([GroupRow(0, 2, 4, 90, 3, 10, 12)])
PLACE = FileRef(FILE, "p", 100, 20, 5, 0, 3, 3, 10, 12, GROUPS)
ENTRY = ParquetEntry(STREAM, 0, 3, 70, 70, 1, 3, 10, 12, 12, FILE, "p", 100, 20, 5, GROUPS)
JOB = CompactionJob("j", "c", TOPIC, 1, JobState.WRITTEN, 1, 2, 0, 3, (PLACE,), (Replaced(FILE, "q"),), "why")
_GROUP_HEX = (
    "0000000000000000000000000000000200000000000000040000005a00000003000000000000000a000000000000000c"
)
_FILE_HEX = "c410000102030405060708090a0b0c0d0e0f"
_TOPIC_HEX = "92a174c41000000000000000000000000000000000"


def test_row_groups_keep_their_encoding() -> None:
    assert GROUPS.hex() == _GROUP_HEX


def test_parquet_entry_keeps_its_encoding() -> None:
    expected = f"dc0011a27031070003464601030a0c0c{_FILE_HEX}a170641405c430{_GROUP_HEX}"
    assert encode_entry(ENTRY).hex() == expected
    assert decode_entry("k", bytes.fromhex(expected)) == ENTRY


def test_file_record_and_deletion_marker_keep_their_encoding() -> None:
    file = ParquetFile("p", STREAM, TOPIC, 1, 100)
    assert encode_file(file).hex() == f"96a26631a17007{_TOPIC_HEX}0164"
    assert decode_file("k", encode_file(file)) == file
    marker = FileGcMarker("p", STREAM, TOPIC, 9, in_table=True)
    assert encode_file(marker).hex() == f"96a26431a17007{_TOPIC_HEX}09c3"
    assert decode_file_gc("k", encode_file(marker)) == marker


_JOB_HEX = (
    f"a26a31a16aa163{_TOPIC_HEX}01a77772697474656e01020003919b{_FILE_HEX}a1706414050003030a0cc430{_GROUP_HEX}"
    f"9192{_FILE_HEX}a171a3776879"
)


def test_job_keeps_its_encoding() -> None:
    steps = (CompactedRange(5, 9), CompactedRange(7, 0))
    state = KeyCompactionState(steps, KeyCompactionCycle(9, 1, 2, 3), (1, 2))
    skipped = (SkippedRange(3, 5, "s", "w", 8),)
    job = msgspec.structs.replace(
        JOB, key_compaction=state, key_compaction_after=KeyCompactionState(steps), skipped=skipped
    )
    expected = f"dc0010{_JOB_HEX}939292050992070094090102039201029392920509920700c0c091950305a173a17708"
    assert encode_job(job).hex() == expected
    assert decode_job("k", bytes.fromhex(expected)) == job
    assert encode_job(JOB).hex() == f"dc0010{_JOB_HEX}9390c0c0c090"


def test_job_without_key_compaction_state_can_be_read() -> None:
    assert decode_job("k", bytes.fromhex(f"9d{_JOB_HEX}")) == JOB


def test_parse_file_path_works_for_topic_names_of_any_length() -> None:
    path = file_path("x" * 249, 12, "2026/11/15", STREAM, FILE)
    assert parse_file_path(path) == (STREAM, FILE)
    other = FileId(bytes(16))
    beside = path_beside(path, STREAM, other)
    assert parse_file_path(beside) == (STREAM, other)
    assert beside.rpartition("/")[0] == path.rpartition("/")[0]
    keys = keys_path(path)
    assert keys != path
    assert parse_file_path(keys) == (STREAM, FILE)
    assert path_beside(keys, STREAM, other) == keys_path(beside)
    assert parse_file_path("compaction/v1/notes.parquet") is None
    assert parse_file_path("wal/v1/x.wo") is None
