"""The two ends of a write: where it begins and where it becomes visible, each in a process of Spark's own.

    open_writer ─pickle─▶ write, on executors ─messages─▶ commit, or abort

Spark starts a Python process for each of the ends on the driver's machine, and nothing lives between them but
the load's record in the metadata store.
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
from dray.log.bulk_commit import LoadParts
from dray.log.bulk_plan import LoadedObject
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.pipeline.access import ClusterAccess, OpenCluster
from dray.pipeline.blocking import BlockingStore, StorageAccess
from dray.pipeline.spark.sink.columns import check_schema
from dray.pipeline.spark.sink.errors import CannotWrite
from dray.pipeline.spark.sink.options import WriteOptions, read_options
from dray.pipeline.spark.sink.task import TaskLoad, TaskPlan
from dray.pipeline.spark.sink.terms import find_terms
from dray.runtime import SystemClock, SystemEntropy

_KEEP_PRODUCERS = LogSettings(producer_id_expiration_ms=1 << 60)
"""A load does not know how long the brokers remember producers, so it forgets none."""

_encoder = msgspec.msgpack.Encoder()
_objects = msgspec.msgpack.Decoder(list[LoadedObject])


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task tells the driver."""

    task: int
    objects: bytes


def open_writer(
    options: Mapping[str, str],
    schema: StructType,
    overwrite: bool,
    access: ClusterAccess,
    storage: StorageAccess,
) -> DataSourceWriter:
    """Begin a load; raises `CannotWrite` or `OptionWrong` before anything is done."""
    if overwrite:
        raise CannotWrite('a topic can only be appended to: use .mode("append")')
    check_schema(schema)
    plan, load = asyncio.run(_begin(access, read_options(options)))
    return BulkWriter(plan, load, access, storage)


async def _begin(access: ClusterAccess, options: WriteOptions) -> tuple[TaskPlan, Load]:
    async with access() as cluster:
        terms = await find_terms(cluster, options)
        load_id = new_load_id(cluster.clock.now_ms(), cluster.entropy)
        load = await _loads(cluster).begin(load_id, terms.topic, terms.streams, options.keep_ms)
        return TaskPlan(load_id, cluster.domains, terms, options.object_bytes, load.created_at_ms), load


class BulkWriter(DataSourceArrowWriter):
    """A load under way. Travels by pickle to the executors and to the process that ends it."""

    def __init__(self, plan: TaskPlan, load: Load, access: ClusterAccess, storage: StorageAccess) -> None:
        self._plan = plan
        self._load = load
        self._access = access
        self._storage = storage

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task as objects that nobody sees yet."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        with BlockingStore(self._storage) as store:
            made = TaskLoad(self._plan, task, store, SystemClock(), SystemEntropy()).run(iterator)
        return Written(task, _encoder.encode(made))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make all rows visible at once; doing it again changes nothing."""
        asyncio.run(self._commit(_in_order(messages)))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - all are deleted
        """Delete what was written, unless it is visible; what cannot be deleted now is left to the sweep."""
        with suppress(MetaError, ObjectError):
            asyncio.run(self._abort())

    async def _commit(self, objects: list[LoadedObject]) -> None:
        async with self._access() as cluster:
            loads = _loads(cluster)
            try:
                await loads.commit(self._plan.load_id, self._load, objects)
            except StreamUnknown as error:
                name = self._plan.terms.topic.name
                raise CannotWrite(
                    f"the topic {name} was deleted while it was written to; nothing is left of it"
                ) from error
            await loads.tidy(self._plan.load_id, objects)

    async def _abort(self) -> None:
        async with self._access() as cluster:
            await _loads(cluster).give_up(self._plan.load_id, self._load)


def _in_order(messages: Sequence[WriterCommitMessage | None]) -> list[LoadedObject]:
    written = [message for message in messages if isinstance(message, Written)]
    if len(written) < len(messages):
        raise CannotWrite(f"only {len(written)} of {len(messages)} tasks told what they wrote")
    in_order = sorted(written, key=lambda message: message.task)
    return [made for message in in_order for made in _objects.decode(message.objects)]


def _loads(cluster: OpenCluster) -> Loads:
    return Loads(LoadParts(cluster.meta, cluster.objects, cluster.domains, cluster.clock, _KEEP_PRODUCERS))
