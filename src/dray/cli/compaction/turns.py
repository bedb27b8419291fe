"""A compactor's turns, one after the other, and what is said about them."""

import sys
from dataclasses import dataclass, field
from typing import Final

import click

from dray.cli.failure import Failure, WrongUse
from dray.cli.stopping import Stop
from dray.index import CorruptValue
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.observe import get_logger
from dray.pipeline.compactor import Compactor, Turn
from dray.pipeline.spark.java import JavaMissing
from dray.pipeline.spark.jvm import SparkFailed
from dray.pipeline.spark.launch import SparkMissing
from dray.runtime import Clock

_log = get_logger("compactor")
_FAILURES: Final = (SparkFailed, MetaError, ObjectError, CorruptValue)
_TURNS_MAX: Final = 64
"""In how many turns a compaction of everything must come to its end; each merges what the one before made."""


@dataclass(slots=True)
class Told:
    """What was done so far, and the one line of a terminal on which that is shown."""

    files: int = 0
    records: int = 0
    failures: int = 0
    left_to_others: set[str] = field(default_factory=set)
    """Topics that another compactor was at in the last turn."""

    def note(self, done: int, of: int) -> None:
        """Show how far Spark is with the files of a round."""
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[Kwriting Parquet files: {done} of {of}", err=True, nl=done == of)

    def turn(self, turn: Turn) -> None:
        report = turn.report
        self.files += report.files
        self.records += report.records
        self.failures += len(report.failures) + bool(turn.failure)
        if turn.left_to_others:
            self.left_to_others.add(turn.topic)
        if report.files or turn.detached:
            _log.info(
                "compacted",
                topic=turn.topic,
                files=report.files,
                records=report.records,
                files_expired=turn.detached,
            )


async def go_on(compactor: Compactor, told: Told, rest_s: float, clock: Clock, stop: Stop) -> None:
    """Compact what is due, rest, and so on until told to stop. That Spark or a store fails may pass."""
    while not stop.asked:
        try:
            await stop.unless_asked(_one_turn(compactor, told))
        except _FAILURES as error:
            _log.warning("turn_failed", error=str(error), again_in_s=rest_s)
        await stop.unless_asked(clock.sleep(rest_s))


async def until_nothing_is_left(compactor: Compactor, told: Told, stop: Stop) -> None:
    """Compact all that there is."""
    for _ in range(_TURNS_MAX):
        try:
            if not await stop.unless_asked(_one_turn(compactor, told)):
                return
        except _FAILURES as error:
            raise Failure(str(error)) from error
    raise Failure(f"there was still something to compact after {_TURNS_MAX} turns; run it again")


async def _one_turn(compactor: Compactor, told: Told) -> int:
    """Go once through all topics; returns how many files were written or expired."""
    done = 0
    told.left_to_others.clear()
    try:
        async for turn in compactor.turn():
            told.turn(turn)
            done += turn.report.files + turn.detached
    except (JavaMissing, SparkMissing) as error:
        raise WrongUse(str(error)) from error
    return done
