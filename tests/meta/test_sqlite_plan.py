"""The plan of one transaction for a group of commits."""

from dray.ids import Domain
from dray.meta.port import (
    ABSENT,
    Check,
    Conflict,
    Delete,
    Put,
    SessionExpired,
    SessionId,
    Version,
    Versions,
    Write,
)
from dray.meta.sqlite.plan import plan_group
from dray.meta.sqlite.requests import CommitRequest
from dray.meta.watching import LoggedCommit

D = Domain("d")
GONE = SessionId("gone")
HERE = SessionId("here")


def request(checks: list[Check], *writes: Write) -> CommitRequest:
    return CommitRequest(D, tuple(checks), writes)


def test_commit_is_checked_against_the_state_after_earlier_ones() -> None:
    first = request([Check("/a", ABSENT)], Put("/a", b"1"))
    same = request([Check("/a", ABSENT)], Put("/a", b"2"))
    next_one = request([Check("/a", Version(8))], Put("/a", b"3"))
    plan = plan_group([first, same, next_one], {}, set(), 7)
    assert plan.responses == [Versions((Version(8),)), Conflict(("/a",)), Versions((Version(9),))]
    assert plan.revision == 9
    assert plan.final == {D: {"/a": (Put("/a", b"3"), 9)}}
    assert plan.log == [LoggedCommit(8, D, (("/a", Version(8)),)), LoggedCommit(9, D, (("/a", Version(9)),))]


def test_deleted_key_is_absent_for_later_commits() -> None:
    delete = request([Check("/a", Version(3))], Delete("/a"))
    create = request([Check("/a", ABSENT)], Put("/a", b"new"))
    plan = plan_group([delete, create], {D: {"/a": Version(3)}}, set(), 7)
    assert plan.responses == [Versions((ABSENT,)), Versions((Version(9),))]
    assert plan.final == {D: {"/a": (Put("/a", b"new"), 9)}}


def test_last_write_of_a_key_wins() -> None:
    plan = plan_group([request([], Put("/a", b"1")), request([], Delete("/a"))], {}, set(), 0)
    assert plan.final == {D: {"/a": (Delete("/a"), 2)}}


def test_commit_with_an_ended_session_is_refused_alone() -> None:
    dead = request([], Put("/a", b"1"), Put("/b", b"1", GONE))
    live = request([Check("/a", ABSENT)], Put("/c", b"1", HERE))
    plan = plan_group([dead, live], {}, {HERE}, 0)
    assert isinstance(plan.responses[0], SessionExpired)
    assert plan.responses[1] == Versions((Version(1),))
    assert plan.final == {D: {"/c": (Put("/c", b"1", HERE), 1)}}


def test_commit_without_writes_takes_no_revision() -> None:
    plan = plan_group([request([Check("/a", Version(3))])], {D: {"/a": Version(3)}}, set(), 7)
    assert (plan.responses, plan.revision, plan.log) == ([Versions(())], 7, [])


def test_every_failed_check_is_reported() -> None:
    checks = [Check("/a", Version(1)), Check("/b", ABSENT), Check("/c", Version(2))]
    plan = plan_group([request(checks, Put("/d", b""))], {D: {"/c": Version(5)}}, set(), 7)
    assert plan.responses == [Conflict(("/a", "/c"))]
    assert plan.final == {}
