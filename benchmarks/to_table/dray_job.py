"""Job process that converts topics to tables as `dray compactor` does: one compactor, one Spark session.

It runs next to the broker on the same stores, one pass per order. A pass ends with the swap of the index, so
that is included in its time.
"""

import asyncio
import sys
import time

import uvloop

from benchmarks.to_table.orders import Answer, AnyOrder, Convert
from benchmarks.to_table.serving import next_order, reply, say_ready
from dray.compaction.compactor import Compactor, TopicResult
from dray.runtime import tune_interpreter
from dray.server.compactor import running_compactor
from dray.server.stores import process_context
from dray.settings import DraySettings, load_settings


class JobFailed(RuntimeError):
    """A pass failed or wrote too few records."""


def settings_of(data_dir: str, cores: str) -> DraySettings:
    """Return the settings of `dray compactor` on these stores, except that no record is too young."""
    pairs = ["compaction.wal_age_ms_max=0", f"spark.master=local[{cores},3]"]
    return load_settings(None, {}, {"--data-dir": data_dir}, pairs).settings


async def convert(compactor: Compactor, order: Convert) -> Answer:
    began = time.perf_counter()
    results = await _run_pass(compactor)
    seconds = time.perf_counter() - began
    written = sum(result.report.records for result in results if result.topic == order.topic)
    if written != order.records:
        raise JobFailed(f"{written} records of {order.topic} were written, expected {order.records}")
    return Answer(seconds)


async def _run_pass(compactor: Compactor) -> list[TopicResult]:
    results = [result async for result in compactor.run_pass()]
    failures = [result.failure for result in results if result.failure]
    failures += [failure for result in results for failure in result.report.failures]
    if failures:
        raise JobFailed(failures[0])
    return results


async def carry_out(compactor: Compactor, order: AnyOrder) -> Answer:
    if isinstance(order, Convert):
        return await convert(compactor, order)
    await _run_pass(compactor)
    return Answer()


async def serve(data_dir: str, cores: str) -> None:
    async with running_compactor(
        settings_of(data_dir, cores), process_context(), lambda *_: None
    ) as compactor:
        say_ready()
        while (order := await asyncio.to_thread(next_order)) is not None:
            reply(await carry_out(compactor, order))


if __name__ == "__main__":
    tune_interpreter()
    uvloop.run(serve(*sys.argv[1:]))
