"""Orders are carried out at their point, by one process, and that is told."""

import os
import signal
from pathlib import Path

import pytest

from dray.ids import FileId, MetaDomain, StreamId, TopicRef
from dray.index import CompactionJob, JobState, encode_job, file_gc_key, head_key, job_key
from dray.meta.port import Delete, Put
from tests.chaos.compaction.doom import Doom, Order, struck
from tests.chaos.compaction.doomed import Kinds
from tests.chaos.compaction.points import KINDS, SAGA, STATES, can_halt, points_of

STREAM = StreamId(1)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


def test_an_order_waits_for_its_point_and_its_turn(tmp_path: Path, killed: list[tuple[int, int]]) -> None:
    path = tmp_path / "an.order"
    doom = Doom(path)
    with doom.around("swap"):
        pass
    Order("after swap", passes=1, target="77", signal=signal.SIGSTOP).give(path)
    for what in ("table", "swap"):
        with doom.around(what):
            assert struck(path) is None
    assert killed == []
    with doom.around("swap"):
        assert killed == []
    assert killed == [(77, signal.SIGSTOP)]
    assert struck(path) == "77"
    with doom.around("swap"):
        pass
    assert len(killed) == 1, "an order is for once"


def test_an_order_can_be_taken_back(tmp_path: Path, killed: list[tuple[int, int]]) -> None:
    path = tmp_path / "an.order"
    doom, order = Doom(path), Order("before swap", passes=1)
    order.give(path)
    with doom.around("swap"):
        pass
    assert order.take_back(path)
    with doom.around("swap"):
        pass
    assert killed == []
    order = Order("before swap")
    order.give(path)
    with doom.around("swap"):
        pass
    assert not order.take_back(path), "it has been carried out"


def test_only_one_takes_an_order(tmp_path: Path) -> None:
    path = tmp_path / "an.order"
    order = Order("in put", 2)
    order.give(path)
    assert Order.take(path) == order
    assert Order.take(path) is None


def test_before_means_that_it_has_not_happened(tmp_path: Path, killed: list[tuple[int, int]]) -> None:
    path = tmp_path / "an.order"
    Order("before put").give(path)
    with Doom(path).around("put"):
        assert killed == [(os.getpid(), signal.SIGKILL)]


def job(state: JobState) -> Put:
    made = CompactionJob("j", "c", TopicRef("chaos", bytes(16)), 0, state, 0, 0, 0, 9)
    return Put(job_key(STREAM), encode_job(made))


def test_commits_are_known_by_what_they_write() -> None:
    kinds = Kinds()
    assert kinds.of([job(JobState.CREATED)]) == "created wal"
    assert kinds.of([Delete("a"), job(JobState.DONE)]) == "swap wal"
    assert kinds.of([job(JobState.DONE)]) == "", "given up"
    assert kinds.of([Put(file_gc_key(MetaDomain(0), FileId(bytes(16))), b"")]) == "let go"
    assert kinds.of([Put(head_key(STREAM), b"")]) == "snapshot"
    assert kinds.of([Put("/dray/v1/other", b"")]) == ""


def test_every_state_has_points_that_are_its_own() -> None:
    for kind in KINDS:
        points = [point for state in STATES for point in points_of(state, kind)]
        assert len(points) == len(set(points))
        for state in SAGA:
            assert all(kind in point or "snapshot" in point for point in points_of(state, kind))
            assert any(map(can_halt, points_of(state, kind)))
