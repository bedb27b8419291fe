"""Cluster under test: brokers, compactors and clients, and the operations and checks of an experiment."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from dray.cluster.identity_plan import MARK_PATH
from tests.chaos.compaction.codec_producers import CODECS, CodecProducer
from tests.chaos.compaction.deployments import Deployment
from tests.chaos.compaction.failpoints import Trigger, fired
from tests.chaos.compaction.observations import Observations
from tests.chaos.compaction.process_tree import pids_running
from tests.chaos.compaction.processes import Broker, CompactorProcess
from tests.chaos.compaction.readers import RereadingConsumer, TailingConsumer
from tests.chaos.compaction.rules import (
    Extent,
    leftover_violations,
    reference_violations,
    table_violations,
)
from tests.chaos.compaction.sweeping import stored_paths, sweep_all
from tests.chaos.compaction.tables import TableReader
from tests.chaos.compaction.topic_state import TopicState, read_topic_state
from tests.chaos.histories import ProducerHistory
from tests.chaos.producers import TOPIC, make_topic
from tests.spark.processes import becomes_true

BROKERS = 2
_TIMEOUT_S = 300.0
_POLL_S = 0.05
_SOON_S, _REACHED_S = 15.0, 120.0
_KEPT_RECORDS = 300
"""Records of a partition that `trim` always keeps."""


class NoProgress(Exception):
    """A condition was not reached within its timeout."""


@dataclass(slots=True)
class Cluster:
    """All processes and clients of an experiment, and the violations found so far."""

    directory: Path
    deployment: Deployment
    brokers: list[Broker]
    compactors: list[CompactorProcess]
    producers: list[CodecProducer]
    tailing: TailingConsumer
    rereading: RereadingConsumer
    seen: Observations
    tables: TableReader
    found: dict[str, None] = field(default_factory=dict)

    @property
    def histories(self) -> list[ProducerHistory]:
        return [producer.history for producer in self.producers]

    @property
    def violations(self) -> list[str]:
        return [*self.found, *self.seen.violations]

    # State

    def topic_state(self) -> TopicState:
        return read_topic_state(self.directory / "metadata.sqlite")

    def wait(self, what: str, reached: Callable[[], bool], within_s: float = _TIMEOUT_S) -> None:
        deadline = time.monotonic() + within_s
        while not reached():
            if time.monotonic() > deadline:
                jobs = [stream.job for stream in self.topic_state().streams]
                raise NoProgress(f"not {what} after {within_s} s: {jobs}")
            time.sleep(_POLL_S)  # there is no notification to wait for

    def wait_caught_up(self, within_s: float = _TIMEOUT_S) -> None:
        """Wait until all records written so far have been compacted."""
        ends = [stream.head.high_watermark for stream in self.topic_state().streams]

        def caught_up() -> bool:
            streams = self.topic_state().streams
            return all(stream.compacted >= end for stream, end in zip(streams, ends, strict=True))

        self.wait("caught up", caught_up, within_s)

    def is_consumed(self) -> bool:
        """Whether the consumers have read all records."""
        streams = enumerate(self.topic_state().streams)
        return all(self.seen.end(number) >= stream.head.high_watermark for number, stream in streams)

    # Operations

    def fires(self, trigger: Trigger, path: Path) -> bool:
        """Arm a trigger and wait until it fires; if it does not in time, disarm it and return False.

        Files are only merged when no records are waiting to be compacted. If that does not happen by itself,
        the producers are paused for a while.
        """
        trigger.arm(path)
        try:
            if becomes_true(lambda: fired(path) is not None, _SOON_S):
                return True
            self.produce(paused=trigger.point.endswith("merge"))
            return becomes_true(lambda: fired(path) is not None, _REACHED_S) or not trigger.disarm(path)
        finally:
            self.produce(paused=False)

    def produce(self, *, paused: bool) -> None:
        for producer in self.producers:
            if paused:
                producer.paused.set()
            else:
                producer.paused.clear()

    def trim(self, random: Random, *, whole_files: bool) -> bool:
        """Delete compacted records, at least a whole file if required; returns False if there are too few."""
        offsets = []
        for partition, stream in enumerate(self.topic_state().streams):
            last = min(stream.compacted, self.seen.end(partition)) - _KEPT_RECORDS
            first = stream.entries[0].end_offset if whole_files else stream.head.log_start + 1
            if first <= last:
                offsets.append(TopicPartition(TOPIC, partition, random.randint(first, last)))
        if not offsets:
            return False
        bootstrap = ",".join(broker.address for broker in self.brokers)
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        for deleted in admin.delete_records(offsets, request_timeout=20).values():
            try:
                deleted.result(30)
            except KafkaException:
                return False  # a broker had just been killed
        return True

    # Checks

    def check(self) -> None:
        """Check table, stream and objects while everything is running."""
        state = self.topic_state()
        extents = {
            number: Extent(stream.head.log_start, stream.compacted)
            for number, stream in enumerate(state.streams)
        }
        found = self.tables.read()
        self._note(table_violations(found.rows, extents, self.seen))
        stored = stored_paths(self.deployment.settings)
        if missing := state.paths - stored:  # unless a newer state no longer references it
            self._note(reference_violations(missing & self.topic_state().paths, stored, "the index"))
        if lost := found.files - stored:
            self._note(reference_violations(lost & self.tables.read().files, stored, "the table"))

    def quiesce_and_sweep(self) -> None:
        """Wait for all work to finish, stop everything, sweep, and check which objects remain."""
        self.produce(paused=True)
        self.wait("acknowledged", lambda: not any(producer.is_waiting for producer in self.producers))
        self.wait("settled", lambda: self.topic_state().is_settled)
        for compactor in self.compactors:
            compactor.stop()
        for broker in self.brokers:
            broker.kill()
        self._await_orphans()
        self._sweep()

    def restart(self) -> None:
        """Start all processes again."""
        for process in (*self.brokers, *self.compactors):
            process.start()
        self.check()
        self.produce(paused=False)

    def _sweep(self) -> None:
        settings, state = self.deployment.settings, self.topic_state()
        swept = sweep_all(settings, state)
        self._note(reference_violations(state.paths, swept.stored, "the index"))
        self._note(reference_violations(swept.referenced, swept.stored, "the table"))
        self._note(leftover_violations({*state.paths, *swept.referenced, MARK_PATH}, swept.stored))

    def _await_orphans(self) -> None:
        """Wait until the orphaned JVMs of killed compactors have exited by themselves."""
        part = f"{self.directory}/dray-spark-"
        self.wait("without Spark", lambda: not pids_running(part), 60)

    def _note(self, violations: list[str]) -> None:
        self.found |= dict.fromkeys(violations)


@contextmanager
def running_cluster(
    directory: Path, deployment: Deployment, compactor_count: int, program: tuple[str, ...]
) -> Iterator[Cluster]:
    """Run a cluster and its clients; end them all on exit."""
    with ExitStack() as ending:
        brokers = [Broker(number + 1, directory, deployment.config) for number in range(BROKERS)]
        compactors = [
            CompactorProcess(number + 1, directory, deployment.config, program)
            for number in range(compactor_count)
        ]
        for process in (*brokers, *compactors):
            ending.callback(process.end)
        for broker in brokers:
            broker.start()
        bootstrap = ",".join(broker.address for broker in brokers)
        make_topic(bootstrap)
        seen, tables = Observations(), TableReader(deployment.settings)
        ending.callback(tables.close)
        producers = [CodecProducer(codec, bootstrap) for codec in CODECS]
        tailing, rereading = TailingConsumer(bootstrap, seen), RereadingConsumer(bootstrap, seen)
        threads: list[CodecProducer | TailingConsumer | RereadingConsumer] = [*producers, tailing, rereading]
        for thread in threads:
            ending.callback(thread.stopping.set)
            thread.start()
        for compactor in compactors:
            compactor.start()
        yield Cluster(directory, deployment, brokers, compactors, producers, tailing, rereading, seen, tables)
