"""A cluster that compacts, its clients, and all that can be asked of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from dray.cluster.identity_plan import MARK_PATH
from tests.chaos.compaction.doom import Order, struck
from tests.chaos.compaction.feeders import CODECS, Feeder
from tests.chaos.compaction.grounds import Ground
from tests.chaos.compaction.kin import running
from tests.chaos.compaction.processes import Broker, CompactorProcess
from tests.chaos.compaction.readers import Follower, Rereader
from tests.chaos.compaction.rules import (
    Extent,
    leftover_violations,
    reference_violations,
    table_violations,
)
from tests.chaos.compaction.seen import Seen
from tests.chaos.compaction.sight import Sight, look
from tests.chaos.compaction.sweeping import stored_paths, sweep_all
from tests.chaos.compaction.tables import TableReader
from tests.chaos.histories import Told
from tests.chaos.producers import TOPIC, make_topic
from tests.pipeline.spark.processes import becomes_true

BROKERS = 2
_PATIENCE_S = 300.0
_LOOK_EVERY_S = 0.05
_SOON_S, _REACHED_S = 15.0, 120.0
_KEPT_RECORDS = 300
"""How much of a partition is left at least when its beginning is deleted."""


class Stuck(Exception):
    """Something that should happen did not, however long it was waited for."""


@dataclass(slots=True)
class Scene:
    """Everything that takes part."""

    directory: Path
    ground: Ground
    brokers: list[Broker]
    compactors: list[CompactorProcess]
    feeders: list[Feeder]
    follower: Follower
    rereader: Rereader
    seen: Seen
    tables: TableReader
    wrong: dict[str, None] = field(default_factory=dict)

    @property
    def told(self) -> list[Told]:
        return [feeder.told for feeder in self.feeders]

    # How things stand

    def look(self) -> Sight:
        return look(self.directory / "metadata.sqlite")

    def wait(self, what: str, reached: Callable[[], bool], within_s: float = _PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not reached():
            if time.monotonic() > deadline:
                jobs = [stream.job for stream in self.look().streams]
                raise Stuck(f"not {what} after {within_s} s: {jobs}")
            time.sleep(_LOOK_EVERY_S)  # nobody tells, it has to be asked

    def wait_caught_up(self, within_s: float = _PATIENCE_S) -> None:
        """Wait until all that is there now has been compacted."""
        ends = [stream.head.high_watermark for stream in self.look().streams]

        def caught_up() -> bool:
            streams = self.look().streams
            return all(stream.compacted >= end for stream, end in zip(streams, ends, strict=True))

        self.wait("caught up", caught_up, within_s)

    def is_followed(self) -> bool:
        """Whether all that is there has been read."""
        streams = enumerate(self.look().streams)
        return all(self.seen.end(number) >= stream.head.high_watermark for number, stream in streams)

    # What is done

    def strikes(self, order: Order, path: Path) -> bool:
        """Have an order carried out; returns whether it was in time, otherwise it is taken back.

        Files are only merged when no records wait to be compacted. If that does not come about by itself, the
        producers rest for a while.
        """
        order.give(path)
        try:
            if becomes_true(lambda: struck(path) is not None, _SOON_S):
                return True
            self.feed(resting=order.point.endswith("merge"))
            return becomes_true(lambda: struck(path) is not None, _REACHED_S) or not order.take_back(path)
        finally:
            self.feed(resting=False)

    def feed(self, *, resting: bool) -> None:
        for feeder in self.feeders:
            if resting:
                feeder.resting.set()
            else:
                feeder.resting.clear()

    def trim(self, chosen: Random, *, whole_files: bool) -> bool:
        """Delete a part of what is compacted, if there is much of it, or a file at least; returns whether."""
        offsets = []
        for partition, stream in enumerate(self.look().streams):
            last = min(stream.compacted, self.seen.end(partition)) - _KEPT_RECORDS
            first = stream.entries[0].end_offset if whole_files else stream.head.log_start + 1
            if first <= last:
                offsets.append(TopicPartition(TOPIC, partition, chosen.randint(first, last)))
        if not offsets:
            return False
        bootstrap = ",".join(broker.address for broker in self.brokers)
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        for deleted in admin.delete_records(offsets, request_timeout=20).values():
            try:
                deleted.result(30)
            except KafkaException:
                return False  # a broker was just gone
        return True

    # What must hold

    def check(self) -> None:
        """Compare table, stream and objects while everything goes on."""
        sight = self.look()
        extents = {
            number: Extent(stream.head.log_start, stream.compacted)
            for number, stream in enumerate(sight.streams)
        }
        found = self.tables.read()
        self._note(table_violations(found.rows, extents, self.seen))
        stored = stored_paths(self.ground.settings)
        if missing := sight.paths - stored:  # or it was replaced meanwhile
            self._note(reference_violations(missing & self.look().paths, stored, "the index"))
        if lost := found.files - stored:
            self._note(reference_violations(lost & self.tables.read().files, stored, "the table"))

    def lay_to_rest(self) -> None:
        """Let everything come to its end, stop all, sweep, and see that what is named is what is left."""
        self.feed(resting=True)
        self.wait("answered", lambda: not any(feeder.waits for feeder in self.feeders))
        self.wait("at rest", lambda: self.look().is_at_rest)
        for compactor in self.compactors:
            compactor.stop()
        for broker in self.brokers:
            broker.kill()
        self._await_orphans()
        self._sweep()

    def wake(self) -> None:
        """Start everything again."""
        for life in (*self.brokers, *self.compactors):
            life.start()
        self.check()
        self.feed(resting=False)

    def _sweep(self) -> None:
        settings, sight = self.ground.settings, self.look()
        swept = sweep_all(settings, sight)
        self._note(reference_violations(sight.paths, swept.stored, "the index"))
        self._note(reference_violations(swept.reached, swept.stored, "the table"))
        self._note(leftover_violations({*sight.paths, *swept.reached, MARK_PATH}, swept.stored))

    def _await_orphans(self) -> None:
        """Let the JVMs of compactors that were killed end; they do so by themselves."""
        part = f"{self.directory}/dray-spark-"
        self.wait("without Spark", lambda: not running(part), 60)

    def _note(self, wrong: list[str]) -> None:
        self.wrong |= dict.fromkeys(wrong)


@contextmanager
def staged(directory: Path, ground: Ground, compactors: int, program: tuple[str, ...]) -> Iterator[Scene]:
    """Run a cluster and its clients; all have ended afterwards."""
    with ExitStack() as ending:
        brokers = [Broker(number + 1, directory, ground.config) for number in range(BROKERS)]
        lives = [
            CompactorProcess(number + 1, directory, ground.config, program) for number in range(compactors)
        ]
        for life in (*brokers, *lives):
            ending.callback(life.end)
        for broker in brokers:
            broker.start()
        bootstrap = ",".join(broker.address for broker in brokers)
        make_topic(bootstrap)
        seen, tables = Seen(), TableReader(ground.settings)
        ending.callback(tables.close)
        feeders = [Feeder(codec, bootstrap) for codec in CODECS]
        follower, rereader = Follower(bootstrap, seen), Rereader(bootstrap, seen)
        threads: list[Feeder | Follower | Rereader] = [*feeders, follower, rereader]
        for thread in threads:
            ending.callback(thread.stopping.set)
            thread.start()
        for compactor in lives:
            compactor.start()
        yield Scene(directory, ground, brokers, lives, feeders, follower, rereader, seen, tables)
