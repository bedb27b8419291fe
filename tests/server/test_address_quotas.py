"""Quotas of IP addresses on a running broker: a client that connects too often is held and closed."""

import socket
from contextlib import suppress

import pytest

from dray.testing import broker
from dray.wire.apis.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryDataRequest,
    OpData,
)
from tests.oracle.request_client import request_client


def test_connections_above_the_quota_of_an_address_are_closed() -> None:
    rate = OpData(key="connection_creation_rate", value=1.0)
    entity = [EntityData(entity_type="ip", entity_name="127.0.0.1")]
    request = AlterClientQuotasRequest(entries=[EntryDataRequest(entity=entity, ops=[rate])])
    with broker() as running, request_client((running.host, running.port)) as client:
        assert client.send(request, AlterClientQuotasResponse).entries[0].error_code == 0
        opened = [socket.create_connection((running.host, running.port), timeout=10) for _ in range(5)]
        closed = 0
        for one in opened:
            one.settimeout(3)
            with suppress(TimeoutError):
                closed += one.recv(1) == b""
            one.close()
    assert closed == pytest.approx(4, abs=1), "one connection a second is served"
