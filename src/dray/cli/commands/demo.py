"""`dray demo`: a tour of one topic as stream, table and SQL."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import uvloop

from dray.runtime import LazyModule
from dray.server.compactor_process import check_requirements
from dray.server.errors import require
from dray.server.serving import set_up_logs
from dray.server.stopping import stop_on_signals
from dray.settings import DraySettings, load_settings

if TYPE_CHECKING:
    from dray.cli.tour import spark as demo_spark
    from dray.cli.tour import tour as demo_tour
else:  # Spark's, Iceberg's and DuckDB's libraries, which may not be installed; checked before use
    demo_spark = LazyModule("dray.cli.tour.spark")
    demo_tour = LazyModule("dray.cli.tour.tour")

_SPARK: Final = "DRAY_SPARK_"


@click.command()
@click.option(
    "--records",
    type=click.IntRange(10, 1_000_000),
    default=3_000,
    show_default=True,
    metavar="N",
    help="Number of records to produce.",
)
@click.option("--keep", is_flag=True, help="Keep the data and print the commands to continue with.")
def demo(*, records: int, keep: bool) -> None:
    """Tour one topic as a stream, as a table and through SQL.

    Starts a broker on a free port with a temporary directory, produces records, compacts them to Parquet
    with Spark, and reads the same rows through Kafka, through the Iceberg table (PyIceberg) and through
    'dray sql', which also sees records that are not in the table yet. Checks that all three agree, and
    deletes everything.

    \b
    Examples:
      dray demo
      dray demo --keep --records 100000
    """
    require(("duckdb",), "spark")
    check_requirements()
    with _directory(keep=keep) as directory:
        settings = demo_settings(directory)
        set_up_logs(settings.logging)
        if not uvloop.run(_tour(settings, records)):
            raise click.Abort
        if keep:
            click.echo(how_to_continue(directory))


async def _tour(settings: DraySettings, records: int) -> bool:
    with stop_on_signals() as stop:
        tour = demo_tour.Tour(settings, records, demo_spark.compact, click.echo)
        return await stop.unless_requested(tour.run()) is not None


def demo_settings(directory: Path) -> DraySettings:
    """Return the settings of a cluster in a directory; of the environment only DRAY_SPARK_* counts."""
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


def how_to_continue(directory: Path) -> str:
    commands = ("up", "sql 'FROM orders LIMIT 5'", "tables describe orders")
    lines = [f"  dray {command} --data-dir {directory}" for command in commands]
    return "\n".join(["", f"The data is in {directory}. To continue:", *lines])
