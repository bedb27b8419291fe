"""The report as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import confluent_kafka

from benchmarks.beside_kafka.readings import Readings, Section
from benchmarks.beside_kafka.report import bystanders, java_version, table, verdicts
from benchmarks.to_table.cases import CORES, PARTITIONS, Scale
from tests.oracle.jars import VERSION

_TABLED = (Section.TO_TABLE, Section.UNTUNED, Section.JOB_CPU)


@dataclass(frozen=True, slots=True)
class Around:
    """What the figures were measured in."""

    file_system: str
    bystander_cores: float
    left_out: Sequence[str]


def lines(readings: Readings, scale: Scale, around: Around) -> list[str]:
    return [
        *_preface(scale, around),
        *(line for section in _TABLED for line in table(readings, section)),
        "",
        bystanders(around.bystander_cores),
        *(f"left out: {what}" for what in around.left_out),
        verdicts(readings),
    ]


def _preface(scale: Scale, around: Around) -> list[str]:
    librdkafka = confluent_kafka.libversion()[0]
    records = f"{scale.large_records:,} records of 1 KiB or {scale.small_records:,} of 100 B"
    rounds = f"{scale.rounds}, case by case in turn; before them {scale.warm_ups} to warm up, not counted"
    return [
        "Dray: WAL objects to Iceberg by its compactor, a PySpark job",
        f"Kafka: Apache Kafka {VERSION} to Iceberg by Spark's own Kafka source and Iceberg's own writer",
        f"both: PySpark {version('pyspark')} on {java_version()}, local[{CORES}], one session for the run",
        f"each topic: {records}, in {PARTITIONS} partitions, written before by librdkafka {librdkafka}",
        "values of words, no keys; raw, or packed by the client with zstd; MB count values, by thousands",
        "counted: from the call that starts the job, which makes the table, to the end of its commit to it,",
        "    for Dray to the end of the swap of the index",
        "both write the same columns and partitions, zstd at level 1 unless told otherwise, to the same disk",
        f"    ({around.file_system}); Dray has synced what it commits, Iceberg leaves that to the kernel",
        "Kafka's side: a batch read, one task a partition, fetches of 8 MiB and polls of 20,000 records,",
        "    no shuffle or sort before the writers (distribution mode none, fan-out), 4 GB of heap,",
        "    Java's own collector and both its compilers",
        "Kafka's side as it comes: same heap, cores, columns and partitions; no setting of the source,",
        "    and of the table only its format's version; so zstd at Iceberg's own level",
        f"rounds: {rounds}",
        "medians (lowest to highest); the ratio is the median of the rounds' own ratios",
        "every table was counted by DuckDB: rows, offsets without a gap, bytes of the values",
    ]
