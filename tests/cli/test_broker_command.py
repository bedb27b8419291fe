"""`dray broker`: one broker of a cluster with shared stores."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.invoking import invoke
from tests.cli.up_process import running

FREE = ("--listen=127.0.0.1:0", "--http=127.0.0.1:0")


def test_broker_requires_named_stores() -> None:
    result = invoke("broker", "--data-dir=/somewhere")
    assert result.code == 2
    assert result.err.splitlines() == [
        "dray: metadata.url is not set; name the cluster's store with --metadata or DRAY_METADATA_URL",
        "dray: storage.url is not set; name the cluster's store with --storage or DRAY_STORAGE_URL",
    ]
    result = invoke("broker", "--storage=file:/somewhere")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert result.err.startswith("dray: metadata.url is not set")


@pytest.mark.parametrize("metadata", ["memory:", "sqlite:/somewhere/m.sqlite"])
def test_broker_refuses_stores_that_others_cannot_share(metadata: str) -> None:
    result = invoke("broker", f"--metadata={metadata}", "--storage=memory:")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "memory: cannot be shared by several brokers" in result.err


def test_brokers_with_the_same_stores_form_one_cluster(tmp_path: Path) -> None:
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
        assert invoke("topics", "create", "t", "--partitions=32", bootstrap=served[0].kafka).code == 0
        for one in served:
            described = invoke("topics", "describe", "t", "--json", bootstrap=one.kafka)
            assert {p["leader"] for p in json.loads(described.out)[0]["partitions"]} == {1, 2, 3}
        assert [broker.end(signal.SIGTERM) for broker in brokers] == [0, 0, 0]
    assert not (tmp_path / "dray-data").exists()


def test_help_states_the_difference_to_up() -> None:
    assert "unlike 'dray up'" in invoke("broker", "--help").out.decode()
    assert "--brokers N" in invoke("up", "--help").out.decode()
    assert "'dray broker'" in invoke("up", "--help").out.decode()
