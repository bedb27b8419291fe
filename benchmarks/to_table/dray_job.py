"""The program that turns topics into tables as `dray compactor` does: one compactor, one Spark session.

It runs beside the broker, on the same stores, and is asked for one turn at a time. A turn ends with the swap
of the index, so that is in its time.
"""

import asyncio
import sys
import time

import uvloop

from benchmarks.to_table.orders import Answer, AnyOrder, Convert
from benchmarks.to_table.serving import next_order, say_ready, tell
from dray.cli.compaction.assembly import running_compactor
from dray.cli.settings import DraySettings, load_settings
from dray.cli.wiring import surroundings
from dray.pipeline.compactor import Compactor, Turn
from dray.runtime import set_up_interpreter


class JobFailed(RuntimeError):
    """A turn did not do what it was asked."""


def settings_of(data_dir: str, cores: str) -> DraySettings:
    """What `dray compactor` has on these stores, except that no record is too young."""
    pairs = ["compaction.wal_age_ms_max=0", f"spark.master=local[{cores},3]"]
    return load_settings(None, {}, {"--data-dir": data_dir}, pairs).settings


async def convert(compactor: Compactor, order: Convert) -> Answer:
    began = time.perf_counter()
    turns = await _turn(compactor)
    seconds = time.perf_counter() - began
    written = sum(turn.report.records for turn in turns if turn.topic == order.topic)
    if written != order.records:
        raise JobFailed(f"{written} records of {order.topic} were written, there were {order.records}")
    return Answer(seconds)


async def _turn(compactor: Compactor) -> list[Turn]:
    turns = [turn async for turn in compactor.turn()]
    failures = [turn.failure for turn in turns if turn.failure]
    failures += [failure for turn in turns for failure in turn.report.failures]
    if failures:
        raise JobFailed(failures[0])
    return turns


async def carry_out(compactor: Compactor, order: AnyOrder) -> Answer:
    if isinstance(order, Convert):
        return await convert(compactor, order)
    await _turn(compactor)
    return Answer()


async def serve(data_dir: str, cores: str) -> None:
    async with running_compactor(settings_of(data_dir, cores), surroundings(), lambda *_: None) as compactor:
        say_ready()
        while (order := await asyncio.to_thread(next_order)) is not None:
            tell(await carry_out(compactor, order))


if __name__ == "__main__":
    set_up_interpreter()
    uvloop.run(serve(*sys.argv[1:]))
