"""Putting a broker together, and what is left when that does not succeed."""

import socket
from pathlib import Path

import pytest

from dray.cli.failure import Failure
from dray.testing import broker


def test_a_broker_that_cannot_start_gives_its_address_back(tmp_path: Path) -> None:
    stores = {"metadata.url": f"sqlite:{tmp_path}/m.sqlite", "storage.url": f"file:{tmp_path}/objects"}
    with broker(stores) as made:
        assert made.cluster_id
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    other = {**stores, "cluster.id": "AAAAAAAAAAAAAAAAAAAAAA", "broker.listen": f"127.0.0.1:{port}"}
    with pytest.raises(Failure, match="AAAAAAAAAAAAAAAAAAAAAA") as failure, broker(other):
        pytest.fail("it started on the stores of another cluster")
    with socket.socket() as again:
        again.bind(("127.0.0.1", port))
    assert failure.value.exit_code == 1
