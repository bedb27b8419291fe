"""What one transaction does for a group of commits."""

from dray.meta.port import (
    ABSENT,
    Check,
    Conflict,
    Delete,
    Domain,
    Put,
    SessionExpired,
    SessionId,
    Version,
    Versions,
    Write,
)
from dray.meta.sqlite.plan import LoggedCommit, plan_group
from dray.meta.sqlite.requests import CommitRequest

D = Domain("d")
GONE = SessionId("gone")
HERE = SessionId("here")


def request(checks: list[Check], *writes: Write) -> CommitRequest:
    return CommitRequest(D, tuple(checks), writes)


def test_each_commit_is_judged_by_what_the_earlier_ones_leave() -> None:
    first = request([Check("/a", ABSENT)], Put("/a", b"1"))
    same = request([Check("/a", ABSENT)], Put("/a", b"2"))
    next_one = request([Check("/a", Version(8))], Put("/a", b"3"))
    plan = plan_group([first, same, next_one], {}, set(), 7)
    assert plan.answers == [Versions((Version(8),)), Conflict(("/a",)), Versions((Version(9),))]
    assert plan.revision == 9
    assert plan.final == {(D, "/a"): (Put("/a", b"3"), 9)}
    assert plan.log == [LoggedCommit(8, D, (("/a", Version(8)),)), LoggedCommit(9, D, (("/a", Version(9)),))]


def test_a_deleted_key_is_absent_to_the_commits_behind() -> None:
    delete = request([Check("/a", Version(3))], Delete("/a"))
    create = request([Check("/a", ABSENT)], Put("/a", b"new"))
    plan = plan_group([delete, create], {(D, "/a"): Version(3)}, set(), 7)
    assert plan.answers == [Versions((ABSENT,)), Versions((Version(9),))]
    assert plan.final == {(D, "/a"): (Put("/a", b"new"), 9)}


def test_the_last_write_of_a_key_stays() -> None:
    plan = plan_group([request([], Put("/a", b"1")), request([], Delete("/a"))], {}, set(), 0)
    assert plan.final == {(D, "/a"): (Delete("/a"), 2)}


def test_a_commit_with_a_dead_session_is_refused_whole_and_alone() -> None:
    dead = request([], Put("/a", b"1"), Put("/b", b"1", GONE))
    live = request([Check("/a", ABSENT)], Put("/c", b"1", HERE))
    plan = plan_group([dead, live], {}, {HERE}, 0)
    assert isinstance(plan.answers[0], SessionExpired)
    assert plan.answers[1] == Versions((Version(1),))
    assert plan.final == {(D, "/c"): (Put("/c", b"1", HERE), 1)}


def test_checks_alone_take_no_revision() -> None:
    plan = plan_group([request([Check("/a", Version(3))])], {(D, "/a"): Version(3)}, set(), 7)
    assert (plan.answers, plan.revision, plan.log) == ([Versions(())], 7, [])


def test_every_failed_check_is_named() -> None:
    checks = [Check("/a", Version(1)), Check("/b", ABSENT), Check("/c", Version(2))]
    plan = plan_group([request(checks, Put("/d", b""))], {(D, "/c"): Version(5)}, set(), 7)
    assert plan.answers == [Conflict(("/a", "/c"))]
    assert plan.final == {}
