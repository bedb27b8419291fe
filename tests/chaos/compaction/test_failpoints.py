"""Triggers of failpoints: they fire once, at their point, in one process, and record that they did."""

import os
import signal
from pathlib import Path

import pytest

from dray.ids import FileId, MetaDomain, StreamId, TopicRef
from dray.index import CompactionJob, JobState, encode_job
from dray.keyspace import file_gc_key, head_key, job_key
from dray.meta.port import Delete, Put
from tests.chaos.compaction.failpoints import Failpoints, Trigger, fired
from tests.chaos.compaction.instrumented import CommitKinds
from tests.chaos.compaction.points import KINDS, SAGA, STATES, can_pause, points_of

STREAM = StreamId(1)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


def test_trigger_fires_at_its_point_after_its_passes(tmp_path: Path, killed: list[tuple[int, int]]) -> None:
    path = tmp_path / "a.armed"
    failpoints = Failpoints(path)
    with failpoints.around("swap"):
        pass
    Trigger("after swap", passes=1, target="77", signal=signal.SIGSTOP).arm(path)
    for what in ("table", "swap"):
        with failpoints.around(what):
            assert fired(path) is None
    assert killed == []
    with failpoints.around("swap"):
        assert killed == []
    assert killed == [(77, signal.SIGSTOP)]
    assert fired(path) == "77"
    with failpoints.around("swap"):
        pass
    assert len(killed) == 1, "a trigger fires once"


def test_trigger_can_be_disarmed_until_it_fires(tmp_path: Path, killed: list[tuple[int, int]]) -> None:
    path = tmp_path / "a.armed"
    failpoints, trigger = Failpoints(path), Trigger("before swap", passes=1)
    trigger.arm(path)
    with failpoints.around("swap"):
        pass
    assert trigger.disarm(path)
    with failpoints.around("swap"):
        pass
    assert killed == []
    trigger = Trigger("before swap")
    trigger.arm(path)
    with failpoints.around("swap"):
        pass
    assert not trigger.disarm(path), "it has fired"


def test_only_one_process_takes_a_trigger(tmp_path: Path) -> None:
    path = tmp_path / "a.armed"
    trigger = Trigger("in put", 2)
    trigger.arm(path)
    assert Trigger.take(path) == trigger
    assert Trigger.take(path) is None


def test_point_before_a_step_fires_before_it(tmp_path: Path, killed: list[tuple[int, int]]) -> None:
    path = tmp_path / "a.armed"
    Trigger("before put").arm(path)
    with Failpoints(path).around("put"):
        assert killed == [(os.getpid(), signal.SIGKILL)]


def job(state: JobState) -> Put:
    made = CompactionJob("j", "c", TopicRef("chaos", bytes(16)), 0, state, 0, 0, 0, 9)
    return Put(job_key(STREAM), encode_job(made))


def test_commits_are_classified_by_their_writes() -> None:
    kinds = CommitKinds()
    assert kinds.of([job(JobState.CREATED)]) == "created wal"
    assert kinds.of([Delete("a"), job(JobState.DONE)]) == "swap wal"
    assert kinds.of([job(JobState.DONE)]) == "", "aborted"
    assert kinds.of([Put(file_gc_key(MetaDomain(0), FileId(bytes(16))), b"")]) == "release"
    assert kinds.of([Put(head_key(STREAM), b"")]) == "snapshot"
    assert kinds.of([Put("/dray/v1/other", b"")]) == ""


def test_every_state_has_its_own_points() -> None:
    for kind in KINDS:
        points = [point for state in STATES for point in points_of(state, kind)]
        assert len(points) == len(set(points))
        for state in SAGA:
            assert all(kind in point or "snapshot" in point for point in points_of(state, kind))
            assert any(map(can_pause, points_of(state, kind)))
