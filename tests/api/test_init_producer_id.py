"""InitProducerId over a real socket: fresh ids for idempotent producers, refusals for all else."""

import pytest

from dray.wire import ErrorCode as E
from dray.wire.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.oracle.request_client import RequestClient
from tests.oracle.requests import idempotent


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_an_id_of_its_own(client: RequestClient, version: int) -> None:
    response = [client.send(idempotent(), InitProducerIdResponse, version) for _ in range(3)]
    assert {(one.error_code, one.producer_epoch) for one in response} == {(E.NONE, 0)}
    assert len({one.producer_id for one in response}) == 3
    assert all(one.producer_id >= 0 for one in response)


@pytest.mark.parametrize("timeout_ms", [0, -1, 2**31 - 1])
def test_transaction_timeout_is_ignored_without_a_transactional_id(
    client: RequestClient, timeout_ms: int
) -> None:
    assert client.send(idempotent(timeout_ms=timeout_ms), InitProducerIdResponse).error_code == E.NONE


@pytest.mark.parametrize("version", [3, 4, 5])
def test_previous_producer_id_is_ignored(client: RequestClient, version: int) -> None:
    response = client.send(idempotent(123_456_789, 5), InitProducerIdResponse, version)
    assert (response.error_code, response.producer_epoch) == (E.NONE, 0)
    assert response.producer_id != 123_456_789


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (idempotent(5, -1), E.INVALID_REQUEST),
        (idempotent(-1, 5), E.INVALID_REQUEST),
        (InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000), E.INVALID_REQUEST),
        (
            InitProducerIdRequest(transactional_id="mine", transaction_timeout_ms=1000),
            E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
    ],
)
def test_invalid_requests_and_transactional_ids_are_refused(
    client: RequestClient, request_: InitProducerIdRequest, expected: E
) -> None:
    response = client.send(request_, InitProducerIdResponse)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (expected, -1, -1)
