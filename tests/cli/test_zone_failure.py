"""librdkafka in a zone whose only broker is killed: it continues with others (docs/decisions/0013)."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.cli.invoking import invoke
from tests.cli.up_process import running

pytestmark = pytest.mark.slow

WAIT_S = 30.0
SESSION_TTL_MS = 4_000
"""How long the cluster considers the killed broker alive; the client requests metadata well within it."""


def deliver(producer: Producer, value: bytes) -> int | None:
    """Send one record, and return its offset."""
    offsets: list[int | None] = []

    def delivered(error: object, message: object) -> None:
        offsets.append(None if error is not None else message.offset())  # type: ignore[attr-defined]

    producer.produce("t", value, partition=0, on_delivery=delivered)
    producer.flush(WAIT_S)
    return offsets[0] if offsets else None


def test_client_reaches_other_zones_when_its_zone_fails(tmp_path: Path) -> None:
    common = [
        f"--metadata=sqlite:{tmp_path}/m.sqlite",
        f"--storage=file:{tmp_path}/objects",
        "--listen=127.0.0.1:0",
        "--http=127.0.0.1:0",
        f"--set=metadata.session_ttl_ms={SESSION_TTL_MS}",
    ]
    with (
        running("broker", "--broker-id=1", "--zone=far", *common, cwd=tmp_path) as far,
        running("broker", "--broker-id=2", "--zone=near", *common, cwd=tmp_path) as near,
    ):
        (there,), (here,) = far.served(1), near.served(1)
        created = invoke("topics", "create", "t", bootstrap=there.kafka)
        assert created.code == 0, created.err
        producer = Producer(
            {
                "bootstrap.servers": f"{there.kafka},{here.kafka}",
                "client.id": "zone_id=near",
                "message.timeout.ms": str(int(WAIT_S * 1000)),
                "topic.metadata.refresh.interval.ms": "300",
                "reconnect.backoff.max.ms": "500",
            }
        )
        assert deliver(producer, b"before") == 0
        near.process.kill()
        assert deliver(producer, b"after") == 1
