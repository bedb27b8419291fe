"""Kafka's error codes for exceptions."""

import pytest

from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.cluster.config_values import InvalidConfig
from dray.cluster.topic_admin import TopicExists, TopicNamesCollide, TopicUnknown
from dray.ids import StreamId
from dray.log import (
    LogClosed,
    LogDamaged,
    NotStored,
    OffsetOutOfRange,
    OutcomeUncertain,
    SequenceRejected,
    StoreUnavailable,
    StreamUnknown,
)
from dray.meta.port import SessionExpired, Unavailable
from dray.producers import Reason
from dray.records import BatchTooLarge, CorruptBatch, InvalidBatch, InvalidTimestamp, UnsupportedCodec
from dray.wire import ErrorCode as E

STREAM = StreamId(1)
CASES: list[tuple[Exception, E]] = [
    (RequestRejected(E.UNKNOWN_TOPIC_ID), E.UNKNOWN_TOPIC_ID),
    (CorruptBatch("x"), E.CORRUPT_MESSAGE),
    (BatchTooLarge("x"), E.MESSAGE_TOO_LARGE),
    (InvalidTimestamp("x"), E.INVALID_TIMESTAMP),
    (UnsupportedCodec("x"), E.UNSUPPORTED_COMPRESSION_TYPE),
    (InvalidBatch("x"), E.INVALID_RECORD),
    (SequenceRejected(Reason.OUT_OF_ORDER_SEQUENCE, "x"), E.OUT_OF_ORDER_SEQUENCE_NUMBER),
    (SequenceRejected(Reason.STALE_EPOCH, "x"), E.INVALID_PRODUCER_EPOCH),
    (OffsetOutOfRange(STREAM, 9, 0, 5), E.OFFSET_OUT_OF_RANGE),
    (StreamUnknown(STREAM), E.UNKNOWN_TOPIC_OR_PARTITION),
    (LogClosed("x"), E.NOT_LEADER_OR_FOLLOWER),
    (LogDamaged("x", "y"), E.KAFKA_STORAGE_ERROR),
    (StoreUnavailable("x"), E.KAFKA_STORAGE_ERROR),
    (NotStored("x"), E.KAFKA_STORAGE_ERROR),
    (OutcomeUncertain("x"), E.REQUEST_TIMED_OUT),
    (TimeoutError("x"), E.REQUEST_TIMED_OUT),
    (Unavailable("x"), E.KAFKA_STORAGE_ERROR),
    (SessionExpired("x"), E.KAFKA_STORAGE_ERROR),
    (TopicExists("x"), E.TOPIC_ALREADY_EXISTS),
    (TopicNamesCollide("x"), E.INVALID_TOPIC_EXCEPTION),
    (TopicUnknown("x"), E.UNKNOWN_TOPIC_OR_PARTITION),
    (InvalidConfig("x"), E.INVALID_CONFIG),
]


@pytest.mark.parametrize(("error", "expected"), CASES, ids=lambda value: repr(value)[:40])
def test_every_expected_exception_has_an_error_code(
    error: Exception, expected: E, caplog: pytest.LogCaptureFixture
) -> None:
    assert code_of(error) == expected
    assert isinstance(error, EXPECTED)
    assert not caplog.records, "what is expected is not logged"


def test_every_reason_to_refuse_a_sequence_has_an_error_code() -> None:
    codes = {code_of(SequenceRejected(reason, "x")) for reason in Reason}
    assert len(codes) == len(Reason)


def test_unexpected_exception_is_logged_and_is_unknown_server_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert code_of(RuntimeError("a fault of our own")) == E.UNKNOWN_SERVER_ERROR
    (line,) = caplog.records
    assert "unexpected_error" in str(line.msg)


def test_refusal_without_a_reason_has_no_message() -> None:
    assert message_of(RequestRejected(E.INVALID_REQUEST)) is None
    assert message_of(RequestRejected(E.INVALID_REQUEST, "because")) == "because"
    assert message_of(InvalidBatch("because")) == "because"
    assert message_of(TimeoutError()) is None
