"""What one of Spark's tasks is given to read; travels as bytes."""

import msgspec
from pyspark.sql.datasource import InputPartition

from dray.pipeline.reading.stretches import Stretch

_encoder = msgspec.msgpack.Encoder()


class ReadTask(msgspec.Struct, frozen=True, array_like=True):
    """Stretches of a topic, in the order of their partitions and offsets."""

    topic: str
    stretches: tuple[Stretch, ...]
    fail_on_data_loss: bool


_decoder = msgspec.msgpack.Decoder(ReadTask)


class TaskPartition(InputPartition):
    """A task as Spark hands it from the driver to an executor."""

    def __init__(self, task: ReadTask) -> None:
        super().__init__(_encoder.encode(task))

    def task(self) -> ReadTask:
        return _decoder.decode(self.value)
