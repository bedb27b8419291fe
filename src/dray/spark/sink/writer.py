"""Writer of a bulk load: its start and its commit, each in a Python process of its own.

    open_writer ─pickle─▶ write, on executors ─messages─▶ commit, or abort

Spark starts a process for each of the two on the driver's machine; the only state in between is the load's
record in the metadata store.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from dray.index.loads import Load
from dray.log import LogSettings, StreamUnknown
from dray.log.bulk import Loads, new_load_id
from dray.log.bulk_commit import LoadDeps
from dray.log.bulk_plan import LoadedObject
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.runtime import SystemClock, SystemEntropy
from dray.scan.access import ClusterAccess, OpenCluster, StorageAccess
from dray.scan.blocking import BlockingStore
from dray.spark.errors import CannotWrite
from dray.spark.sink.columns import check_schema
from dray.spark.sink.options import WriteOptions, read_options
from dray.spark.sink.task import TaskLoad, TaskPlan
from dray.spark.sink.write_target import resolve_target

_KEEP_PRODUCERS = LogSettings(producer_id_expiration_ms=1 << 60)
"""A load does not know for how long brokers keep producer state, so it expires none."""

_encoder = msgspec.msgpack.Encoder()
_objects = msgspec.msgpack.Decoder(list[LoadedObject])


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The message of a task to the driver."""

    task: int
    objects: bytes


def open_writer(
    options: Mapping[str, str],
    schema: StructType,
    overwrite: bool,
    access: ClusterAccess,
    storage: StorageAccess,
) -> DataSourceWriter:
    """Begin a load; raises `CannotWrite` or `InvalidOption` before anything is written."""
    if overwrite:
        raise CannotWrite('a topic can only be appended to: use .mode("append")')
    check_schema(schema)
    plan, load = asyncio.run(_begin(access, read_options(options)))
    return BulkWriter(plan, load, access, storage)


async def _begin(access: ClusterAccess, options: WriteOptions) -> tuple[TaskPlan, Load]:
    async with access() as cluster:
        target = await resolve_target(cluster, options)
        load_id = new_load_id(cluster.clock.now_ms(), cluster.entropy)
        load = await _loads(cluster).begin(load_id, target.topic, target.streams, options.keep_ms)
        return TaskPlan(load_id, cluster.domains, target, options.object_bytes, load.created_at_ms), load


class BulkWriter(DataSourceArrowWriter):
    """A load in progress; pickled to the executors and to the process that commits it."""

    def __init__(self, plan: TaskPlan, load: Load, access: ClusterAccess, storage: StorageAccess) -> None:
        self._plan = plan
        self._load = load
        self._access = access
        self._storage = storage

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task as objects that no index names yet."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        with BlockingStore(self._storage) as store:
            made = TaskLoad(self._plan, task, store, SystemClock(), SystemEntropy()).run(iterator)
        return Written(task, _encoder.encode(made))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make all rows visible atomically; repeating it changes nothing."""
        asyncio.run(self._commit(_in_order(messages)))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - all are deleted
        """Delete the objects, unless they are visible; garbage collection deletes those that fail here."""
        with suppress(MetaError, ObjectError):
            asyncio.run(self._abort())

    async def _commit(self, objects: list[LoadedObject]) -> None:
        async with self._access() as cluster:
            loads = _loads(cluster)
            try:
                await loads.commit(self._plan.load_id, self._load, objects)
            except StreamUnknown as error:
                name = self._plan.target.topic.name
                raise CannotWrite(
                    f"the topic {name} was deleted during the write; nothing was written"
                ) from error
            await loads.tidy(self._plan.load_id, objects)

    async def _abort(self) -> None:
        async with self._access() as cluster:
            await _loads(cluster).abort(self._plan.load_id, self._load)


def _in_order(messages: Sequence[WriterCommitMessage | None]) -> list[LoadedObject]:
    written = [message for message in messages if isinstance(message, Written)]
    if len(written) < len(messages):
        raise CannotWrite(f"only {len(written)} of {len(messages)} tasks reported what they wrote")
    in_order = sorted(written, key=lambda message: message.task)
    return [made for message in in_order for made in _objects.decode(message.objects)]


def _loads(cluster: OpenCluster) -> Loads:
    return Loads(LoadDeps(cluster.meta, cluster.objects, cluster.domains, cluster.clock, _KEEP_PRODUCERS))
