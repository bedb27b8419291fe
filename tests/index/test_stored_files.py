"""What is stored of Parquet files and compactions keeps its bytes for ever."""

import msgspec

from dray.ids import FileId, StreamId, TopicRef
from dray.index import (
    Cleaned,
    CleanPass,
    CleanStep,
    CompactionJob,
    FileGcMarker,
    FilePlace,
    GroupRow,
    JobState,
    ParquetEntry,
    ParquetFile,
    Replaced,
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
PLACE = FilePlace(FILE, "p", 100, 20, 5, 0, 3, 3, 10, 12, GROUPS)
ENTRY = ParquetEntry(STREAM, 0, 3, 70, 70, 1, 3, 10, 12, 12, FILE, "p", 100, 20, 5, GROUPS)
JOB = CompactionJob("j", "c", TOPIC, 1, JobState.WRITTEN, 1, 2, 0, 3, (PLACE,), (Replaced(FILE, "q"),), "why")
_GROUP_HEX = (
    "0000000000000000000000000000000200000000000000040000005a00000003000000000000000a000000000000000c"
)
_FILE_HEX = "c410000102030405060708090a0b0c0d0e0f"
_TOPIC_HEX = "92a174c41000000000000000000000000000000000"


def test_row_groups() -> None:
    assert GROUPS.hex() == _GROUP_HEX


def test_an_entry() -> None:
    expected = f"dc0011a27031070003464601030a0c0c{_FILE_HEX}a170641405c430{_GROUP_HEX}"
    assert encode_entry(ENTRY).hex() == expected
    assert decode_entry("k", bytes.fromhex(expected)) == ENTRY


def test_a_file_and_its_marker() -> None:
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


def test_a_job() -> None:
    steps = (CleanStep(5, 9), CleanStep(7, 0))
    cleaned = Cleaned(steps, CleanPass(9, 1, 2, 3), (1, 2))
    job = msgspec.structs.replace(JOB, cleaned=cleaned, cleaned_then=Cleaned(steps))
    expected = f"9f{_JOB_HEX}939292050992070094090102039201029392920509920700c0c0"
    assert encode_job(job).hex() == expected
    assert decode_job("k", bytes.fromhex(expected)) == job
    assert encode_job(JOB).hex() == f"9f{_JOB_HEX}9390c0c0c0"


def test_a_job_from_before_there_was_cleaning() -> None:
    assert decode_job("k", bytes.fromhex(f"9d{_JOB_HEX}")) == JOB


def test_a_path_tells_its_stream_and_file_however_long_the_topic() -> None:
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
