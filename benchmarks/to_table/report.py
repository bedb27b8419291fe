"""Text report of the run."""

from importlib.metadata import version

import confluent_kafka

from benchmarks.beside_kafka.readings import Readings, Section
from benchmarks.beside_kafka.report import Environment, background_load, java_version, table, verdicts
from benchmarks.to_table.cases import CORES, PARTITIONS, Scale
from tests.oracle.jars import VERSION

_SECTIONS = (Section.TO_TABLE, Section.UNTUNED, Section.JOB_CPU)


def lines(readings: Readings, scale: Scale, environment: Environment) -> list[str]:
    return [
        *_preface(scale, environment),
        *(line for section in _SECTIONS for line in table(readings, section)),
        "",
        background_load(environment.background_cores),
        *(f"left out: {what}" for what in environment.left_out),
        verdicts(readings),
    ]


def _preface(scale: Scale, environment: Environment) -> list[str]:
    librdkafka = confluent_kafka.libversion()[0]
    records = f"{scale.large_records:,} records of 1 KiB or {scale.small_records:,} of 100 B"
    rounds = f"{scale.rounds}, alternating case by case; before them {scale.warm_ups} warm-up, not counted"
    return [
        "Dray: WAL objects to Iceberg by its compactor, a PySpark job",
        f"Kafka: Apache Kafka {VERSION} to Iceberg by Spark's own Kafka source and Iceberg's own writer",
        f"both: PySpark {version('pyspark')} on {java_version()}, local[{CORES}], one session for the run",
        f"each topic: {records}, in {PARTITIONS} partitions, produced before by librdkafka {librdkafka}",
        "values of words, no keys; raw, or compressed by the client with zstd; MB are 10^6 bytes of values",
        "clock: from the call that starts the job, which creates the table, to the end of its table commit,",
        "    for Dray to the end of the index swap",
        "both write the same columns and partitions, zstd level 1 unless stated otherwise, to the same disk",
        f"    ({environment.file_system}); Dray syncs what it commits, Iceberg leaves syncing to the kernel",
        "Kafka's side: a batch read, one task a partition, fetches of 8 MiB and polls of 20,000 records,",
        "    no shuffle or sort before the writers (distribution mode none, fan-out), 4 GB of heap,",
        "    Java's default collector and both compilers",
        "Kafka with defaults: same heap, cores, columns and partitions; default settings of the source",
        "    and of the table, except for the format version; so zstd at Iceberg's default level",
        f"rounds: {rounds}",
        "medians (lowest to highest); the ratio is the median of the rounds' own ratios",
        "DuckDB verified every table: rows, offsets without a gap, bytes of the values",
    ]
