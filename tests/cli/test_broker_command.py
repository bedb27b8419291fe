"""`dray broker`: one broker of a cluster whose stores are named."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.up_process import running

FREE = ("--listen=127.0.0.1:0", "--http=127.0.0.1:0")


def test_stores_must_be_named() -> None:
    called = call("broker", "--data-dir=/somewhere")
    assert called.code == 2
    assert called.err.splitlines() == [
        "dray: metadata.url is not given; name the cluster's own with --metadata or DRAY_METADATA_URL",
        "dray: storage.url is not given; name the cluster's own with --storage or DRAY_STORAGE_URL",
    ]
    called = call("broker", "--storage=file:/somewhere")
    assert (called.code, len(called.err.splitlines())) == (2, 1)
    assert called.err.startswith("dray: metadata.url is not given")


@pytest.mark.parametrize("metadata", ["memory:", "sqlite:/somewhere/m.sqlite"])
def test_stores_must_be_such_that_others_can_share_them(metadata: str) -> None:
    called = call("broker", f"--metadata={metadata}", "--storage=memory:")
    assert (called.code, len(called.err.splitlines())) == (2, 1)
    assert "memory: cannot be shared by several brokers" in called.err


def test_brokers_that_name_the_same_stores_are_one_cluster(tmp_path: Path) -> None:
    metadata, storage = f"sqlite:{tmp_path}/m.sqlite", f"file:{tmp_path}/objects"
    (tmp_path / "dray.yaml").write_text(f"metadata: {{url: '{metadata}'}}\nstorage: {{url: '{storage}'}}\n")
    variables = {"DRAY_METADATA_URL": metadata, "DRAY_STORAGE_URL": storage, "DRAY_BROKER_ID": "2"}
    flags = [f"--metadata={metadata}", f"--storage={storage}", "--broker-id=1"]
    with (
        running("broker", *FREE, *flags, cwd=tmp_path) as by_flags,
        running("broker", *FREE, cwd=tmp_path, env=variables) as by_variables,
        running("broker", *FREE, "--config=dray.yaml", "--broker-id=3", cwd=tmp_path) as by_file,
    ):
        brokers = [by_flags, by_variables, by_file]
        served = [broker.served(1)[0] for broker in brokers]
        assert [one.broker_id for one in served] == [1, 2, 3]
        assert call("topics", "create", "t", "--partitions=32", bootstrap=served[0].kafka).code == 0
        for one in served:
            described = call("topics", "describe", "t", "--json", bootstrap=one.kafka)
            assert {p["leader"] for p in json.loads(described.out)[0]["partitions"]} == {1, 2, 3}
        assert [broker.end(signal.SIGTERM) for broker in brokers] == [0, 0, 0]
    assert not (tmp_path / "dray-data").exists()


def test_help_says_how_it_differs_from_up() -> None:
    assert "Unlike 'dray up'" in call("broker", "--help").out.decode()
    assert "--brokers N" in call("up", "--help").out.decode()
    assert "'dray broker'" in call("up", "--help").out.decode()
