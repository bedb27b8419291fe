"""Loss of the machine with the SQLite file: the metadata is restored from the bucket on another one."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.backup.places import ObjectSource, saved_backups
from dray.backup.reading import records_of
from dray.index import decode_head
from dray.keyspace import stream_of_head_key
from dray.objects.port import ObjectStore
from dray.server.access import inspect_storage
from dray.settings import load_settings
from dray.testing import seaweedfs
from dray.testing.seaweedfs import SECRET, SeaweedFS
from tests.brokers import BrokerProcess
from tests.cli.invoking import Result, invoke

pytestmark = [pytest.mark.real("seaweedfs"), pytest.mark.slow]
PATIENCE_S = 60


@pytest.fixture
def seaweed(tmp_path: Path) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(tmp_path) as server:
        server.make_bucket("dray")
        yield server


def storage_options(seaweed: SeaweedFS, folder: Path) -> list[str]:
    secret = folder / "secret"
    secret.write_text(SECRET)
    return [
        "--storage=s3://dray/cluster",
        f"--set=storage.endpoint={seaweed.endpoint}",
        "--set=storage.allow_http=true",
        "--set=storage.region=us-east-1",
        "--set=storage.access_key_id=admin",
        f"--set=storage.secret_access_key=file:{secret}",
    ]


def ok(result: Result) -> Result:
    assert result.code == 0, result.err
    return result


def produce(kafka: BrokerProcess, first: int, count: int) -> None:
    lines = b"".join(b"%d\n" % number for number in range(first, first + count))
    ok(invoke("produce", "orders", "-q", stdin=lines, bootstrap=kafka.address))


def consumed(kafka: BrokerProcess) -> list[int]:
    found = ok(invoke("consume", "orders", "--no-follow", "--format", r"%o %v\n", bootstrap=kafka.address))
    pairs = [tuple(map(int, line.split())) for line in found.lines]
    assert [offset for offset, _ in pairs] == list(range(len(pairs)))
    return [value for _, value in pairs]


def saved_high_watermark(options: list[str]) -> int:
    """Return where the newest backup ends the only stream."""
    pairs = tuple(option.removeprefix("--set=") for option in options if option.startswith("--set="))
    settings = load_settings(None, {}, {"--storage": "s3://dray/cluster"}, pairs).settings

    async def read(objects: ObjectStore) -> int:
        newest = (await saved_backups(objects))[-1]
        heads = [
            decode_head(record.key, record.value).high_watermark
            async for _, records in records_of(ObjectSource(objects, newest.backup_id))
            for record in records
            if stream_of_head_key(record.key) is not None
        ]
        return max(heads, default=0)

    return inspect_storage(settings, read)


def wait_until_saved(options: list[str], high_watermark: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while saved_high_watermark(options) < high_watermark:
        assert time.monotonic() < deadline, "no backup was made"


def test_restored_cluster_has_lost_exactly_what_was_acknowledged_after_the_last_backup(
    seaweed: SeaweedFS, tmp_path: Path
) -> None:
    storage = storage_options(seaweed, tmp_path)
    first_machine, second_machine = tmp_path / "first", tmp_path / "second"
    first_machine.mkdir()
    kafka = BrokerProcess(1, first_machine, [*storage, "--set=metadata.backup_interval_ms=1000"])
    kafka.start()
    try:
        ok(invoke("topics", "create", "orders", "--partitions=1", bootstrap=kafka.address))
        produce(kafka, 0, 100)
        wait_until_saved(storage, 100)
        produce(kafka, 100, 50)
    finally:
        kafka.kill()
    kept = saved_high_watermark(storage)
    shutil.rmtree(first_machine)

    second_machine.mkdir()
    machine = [f"--data-dir={second_machine}", *storage]
    refused = invoke("metadata", "verify", "objects:nothing", *storage)
    assert "backup objects:nothing does not exist; the newest is objects:0000-" in refused.err
    restored = ok(invoke("metadata", "restore", "--from", "objects", *machine))
    assert "keys of cluster" in restored.lines[-1]
    again = BrokerProcess(1, second_machine, [*storage, "--set=metadata.backup_interval_ms=1000"])
    again.start()
    try:
        assert consumed(again) == list(range(kept))
        assert 100 <= kept <= 150
        produce(again, 1_000, 20)
        assert consumed(again) == [*range(kept), *range(1_000, 1_020)]
        wait_until_saved(storage, kept + 20)  # the restored cluster is saved in turn
    finally:
        again.stop()
