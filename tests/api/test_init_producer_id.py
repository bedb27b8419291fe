"""InitProducerId over a real socket: fresh ids for idempotent producers, refusals for all else."""

import pytest

from dray.wire import ErrorCode as E
from dray.wire.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.oracle.asking import Asker
from tests.oracle.requests import idempotent


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_an_id_of_its_own(asker: Asker, version: int) -> None:
    came = [asker.ask(idempotent(), InitProducerIdResponse, version) for _ in range(3)]
    assert {(one.error_code, one.producer_epoch) for one in came} == {(E.NONE, 0)}
    assert len({one.producer_id for one in came}) == 3
    assert all(one.producer_id >= 0 for one in came)


@pytest.mark.parametrize("timeout_ms", [0, -1, 2**31 - 1])
def test_without_a_transaction_its_time_limit_is_not_looked_at(asker: Asker, timeout_ms: int) -> None:
    assert asker.ask(idempotent(timeout_ms=timeout_ms), InitProducerIdResponse).error_code == E.NONE


@pytest.mark.parametrize("version", [3, 4, 5])
def test_an_id_that_the_client_had_is_not_looked_at(asker: Asker, version: int) -> None:
    came = asker.ask(idempotent(123_456_789, 5), InitProducerIdResponse, version)
    assert (came.error_code, came.producer_epoch) == (E.NONE, 0)
    assert came.producer_id != 123_456_789


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
def test_refusals(asker: Asker, request_: InitProducerIdRequest, expected: E) -> None:
    came = asker.ask(request_, InitProducerIdResponse)
    assert (came.error_code, came.producer_id, came.producer_epoch) == (expected, -1, -1)
