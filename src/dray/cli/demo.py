"""`dray demo`: a guided tour, from a broker to a table and back."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import uvloop

from dray.cli.compaction.needs import check_needs
from dray.cli.failure import WrongUse
from dray.cli.serving import set_up_logs
from dray.cli.settings import DraySettings, load_settings
from dray.cli.stopping import stop_on_signals
from dray.runtime import LazyModule

if TYPE_CHECKING:
    from dray.cli import demo_spark, demo_tour
else:  # Spark's, Iceberg's and DuckDB's libraries; they may be missing, which is told before
    demo_spark = LazyModule("dray.cli.demo_spark")
    demo_tour = LazyModule("dray.cli.demo_tour")

_SPARK: Final = "DRAY_SPARK_"


@click.command()
@click.option(
    "--records",
    type=click.IntRange(10, 1_000_000),
    default=3_000,
    show_default=True,
    metavar="N",
    help="How many records to produce.",
)
@click.option("--keep", is_flag=True, help="Leave the data where it is, and say how to go on with it.")
def demo(*, records: int, keep: bool) -> None:
    """See one topic as a stream, as a table and through SQL.

    Starts a broker on a free port with a directory of its own, produces records, compacts them to Parquet
    with Spark, and reads the same rows through Kafka, through the Iceberg table (PyIceberg) and through
    'dray sql', some of them still hot. It checks that all three agree, and leaves nothing behind.

    \b
    Examples:
      dray demo
      dray demo --keep --records 100000
    """
    if find_spec("duckdb") is None:
        raise WrongUse("the tour needs duckdb: pip install 'dray[spark]'")
    check_needs()
    with _directory(keep=keep) as directory:
        settings = demo_settings(directory)
        set_up_logs(settings.logging)
        if not uvloop.run(_tour(settings, records)):
            raise click.Abort
        if keep:
            click.echo(how_to_go_on(directory))


async def _tour(settings: DraySettings, records: int) -> bool:
    with stop_on_signals() as stop:
        tour = demo_tour.Tour(settings, records, demo_spark.compact, click.echo)
        return await stop.unless_asked(tour.run()) is not None


def demo_settings(directory: Path) -> DraySettings:
    """Return the settings of a cluster in a directory; of the machine's own, only those of Spark count."""
    pairs = {
        "broker.data_dir": str(directory),
        "broker.listen": "127.0.0.1:0",
        "broker.http": "127.0.0.1:0",
        "logging.level": "error",
    }
    env = {name: value for name, value in os.environ.items() if name.startswith(_SPARK)}
    return load_settings(None, env, {}, tuple(f"{key}={value}" for key, value in pairs.items())).settings


@contextmanager
def _directory(*, keep: bool) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="dray-demo-"))
    try:
        yield directory
    finally:
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)


def how_to_go_on(directory: Path) -> str:
    commands = ("up", "sql 'FROM orders LIMIT 5'", "tables describe orders")
    lines = [f"  dray {command} --data-dir {directory}" for command in commands]
    return "\n".join(["", f"The data is in {directory}. To go on:", *lines])
