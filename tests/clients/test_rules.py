"""Invariants of groups: violations are detected, and correct histories accepted."""

from tests.clients.journal import Confirmed, Died, Entry, Processed
from tests.clients.protocol import Record
from tests.clients.rules import again, left_out, moved_back


def read(member: str, offset: int, partition: int = 0) -> Processed:
    return Processed(member, Record(value=b"%d" % offset, partition=partition, offset=offset))


def confirmed(member: str, offset: int) -> Confirmed:
    return Confirmed(member, (0, offset))


def test_processing_everything_once_violates_nothing() -> None:
    entries: list[Entry] = [read("a", 0), read("a", 0, 1), read("a", 1), confirmed("a", 2), read("b", 2)]
    assert again(entries) == []
    assert left_out(entries, [entry.record for entry in entries if isinstance(entry, Processed)]) == []
    assert moved_back(entries) == []


def test_reprocessing_a_record_of_a_living_member_is_a_violation() -> None:
    assert again([read("a", 0), read("b", 0)]) == [read("b", 0)]
    assert again([read("a", 0), confirmed("a", 1), read("a", 0)]) == [read("a", 0)]


def test_reprocessing_an_uncommitted_record_of_a_dead_member_is_allowed() -> None:
    assert again([read("a", 0), confirmed("a", 1), read("a", 1), Died("a"), read("b", 1)]) == []


def test_reprocessing_a_committed_record_of_a_dead_member_is_a_violation() -> None:
    assert again([read("a", 0), confirmed("a", 1), Died("a"), read("b", 0)]) == [read("b", 0)]


def test_record_is_reprocessed_at_most_once() -> None:
    assert again([read("a", 0), Died("a"), read("b", 0), read("c", 0)]) == [read("c", 0)]


def test_unprocessed_record_is_detected() -> None:
    log = [Record(value=b"0", offset=0), Record(value=b"other", offset=1), Record(value=b"2", offset=2)]
    assert left_out([read("a", 0), read("a", 1)], log) == log[1:]


def test_commit_that_moves_back_is_detected() -> None:
    assert moved_back([confirmed("a", 2), confirmed("a", 2), confirmed("b", 1)]) == [confirmed("b", 1)]
