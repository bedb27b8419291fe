"""Distributed deployment: S3, a REST catalog, a Spark cluster of a master and two workers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from pyiceberg.catalog import load_catalog

from dray.testing import seaweedfs
from dray.testing.seaweedfs import SECRET
from tests.agreement.embedded import PARTITIONS, TABLE, TOPIC, Say, check, read_during_compaction
from tests.agreement.reading import AWS, by_duckdb, by_kafka, by_pyiceberg, by_spark, spark_with_iceberg
from tests.agreement.sending import Sender
from tests.brokers import running_brokers
from tests.oracle.jars import fetched
from tests.spark.cluster import standalone
from tests.tables.rest import server as rest

POM: Final = Path(__file__).with_name("pom-s3.xml")
_CONF: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "500m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True, slots=True)
class Spread:
    """The addresses of the servers."""

    s3: str
    catalog: str
    master: str

    @property
    def java(self) -> Mapping[str, str]:
        """The settings with which Iceberg's Java reaches the bucket."""
        return {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint": self.s3,
            "s3.path-style-access": "true",
            "s3.chunked-encoding-enabled": "false",  # SeaweedFS cannot verify the checksum of such a body
            "s3.access-key-id": "admin",
            "s3.secret-access-key": SECRET,
            "client.region": "us-east-1",
        }

    @property
    def python(self) -> Mapping[str, str]:
        return {
            "uri": self.catalog,
            "s3.endpoint": self.s3,
            "s3.access-key-id": "admin",
            "s3.secret-access-key": SECRET,
            "s3.region": "us-east-1",
        }

    @property
    def duckdb(self) -> str:
        host = self.s3.removeprefix("http://")
        return (
            f"CREATE SECRET (TYPE s3, KEY_ID 'admin', SECRET '{SECRET}', ENDPOINT '{host}', "
            "REGION 'us-east-1', URL_STYLE 'path', USE_SSL false)"
        )

    def settings(self) -> dict[str, dict[str, object]]:
        """Settings of the broker and the compactor."""
        return {
            "storage": {
                "url": "s3://dray/cluster",
                "endpoint": self.s3,
                "allow_http": True,
                "region": "us-east-1",
                "access_key_id": "admin",
                "secret_access_key": SECRET,
            },
            "tables": {"catalog": self.catalog},
            "spark": {"master": self.master, "conf": "; ".join(f"{k}={v}" for k, v in _CONF.items())},
        }


@contextmanager
def spread(folder: Path) -> Iterator[Spread]:
    """Run an S3 server, a catalog and a Spark cluster."""
    for name in ("s3", "spark"):
        (folder / name).mkdir()
    with seaweedfs.serve(folder / "s3") as store:
        store.make_bucket("dray")
        # The bundle is newer than the server's and has no other client that both support.
        reaching = {**Spread(store.endpoint, "", "").java, "http-client.type": "urlconnection"}
        jars = fetched("iceberg-s3", POM)
        with (
            rest.serve(folder / "catalog", reaching, jars) as catalog,
            standalone(folder / "spark") as master,
        ):
            yield Spread(store.endpoint, catalog.uri, master)


def agree(folder: Path, records: int, say: Say = lambda _: None) -> None:
    """Produce, compact while a consumer reads, and compare all readers."""
    with spread(folder) as parts:
        config = folder / "dray.yaml"
        config.write_text(yaml.safe_dump(parts.settings()))
        options = ["--config", str(config), "--data-dir", str(folder / "data")]
        with running_brokers(1, folder / "data", options[:2]) as (broker,):
            sender = Sender(broker.address, TOPIC, PARTITIONS)
            sender.make_topic()
            sender.send(records)
            expected = sender.expected()
            say(f"sent {expected.num_rows:,} records")
            reads = read_during_compaction(broker.address, options, expected)
            say(f"compacted while they were read {reads} times")
            check("Kafka", by_kafka(broker.address, TOPIC, PARTITIONS), expected, say)
        catalog = load_catalog("dray", type="rest", **parts.python)
        check("PyIceberg", by_pyiceberg(catalog, TABLE), expected, say)
        metadata = catalog.load_table(TABLE).metadata_location
        check("DuckDB", by_duckdb(metadata, parts.duckdb), expected, say)
        same = {"type": "rest", "uri": parts.catalog, **parts.java}
        with spark_with_iceberg(folder, same, fetched("iceberg-s3", POM).glob(AWS)) as session:
            check("Spark", by_spark(session, TABLE), expected, say)
