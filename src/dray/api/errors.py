"""Mapping of exceptions to Kafka's error codes.

All exceptions that a handler expects are in this table. Any other is a bug: the client gets
UNKNOWN_SERVER_ERROR, and the error is logged.
"""

from dray.acls import InvalidAcl
from dray.cluster.acl_admin import TooManyAcls
from dray.cluster.configs import InvalidConfig
from dray.cluster.topic_admin import TopicExists, TopicNamesCollide, TopicUnknown
from dray.coordinators import GroupsClosed, GroupsUnavailable
from dray.groups.stored import CorruptGroup
from dray.index import CorruptValue
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
from dray.meta.port import MetaError
from dray.observe import get_logger
from dray.producers import Reason
from dray.records import BatchTooLarge, CorruptBatch, InvalidBatch, InvalidTimestamp, UnsupportedCodec
from dray.wire import ErrorCode

_log = get_logger("api")

_CODES: dict[type[Exception], ErrorCode] = {
    BatchTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    CorruptBatch: ErrorCode.CORRUPT_MESSAGE,
    CorruptGroup: ErrorCode.UNKNOWN_SERVER_ERROR,
    CorruptValue: ErrorCode.UNKNOWN_SERVER_ERROR,
    GroupsUnavailable: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    GroupsClosed: ErrorCode.NOT_COORDINATOR,
    InvalidAcl: ErrorCode.INVALID_REQUEST,
    InvalidBatch: ErrorCode.INVALID_RECORD,
    InvalidConfig: ErrorCode.INVALID_CONFIG,
    InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    LogClosed: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    LogDamaged: ErrorCode.KAFKA_STORAGE_ERROR,
    MetaError: ErrorCode.KAFKA_STORAGE_ERROR,
    StoreUnavailable: ErrorCode.KAFKA_STORAGE_ERROR,
    NotStored: ErrorCode.KAFKA_STORAGE_ERROR,
    OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    OutcomeUncertain: ErrorCode.REQUEST_TIMED_OUT,
    StreamUnknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    TimeoutError: ErrorCode.REQUEST_TIMED_OUT,
    TooManyAcls: ErrorCode.POLICY_VIOLATION,
    TopicExists: ErrorCode.TOPIC_ALREADY_EXISTS,
    TopicNamesCollide: ErrorCode.INVALID_TOPIC_EXCEPTION,
    TopicUnknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    UnsupportedCodec: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
}
_REASONS = {
    Reason.OUT_OF_ORDER_SEQUENCE: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Reason.STALE_EPOCH: ErrorCode.INVALID_PRODUCER_EPOCH,
}


class RequestRejected(Exception):
    """A request, or a part of it, that is answered with this error code."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message


def code_of(error: BaseException) -> ErrorCode:
    """Return the error code for `error`."""
    if isinstance(error, RequestRejected):
        return error.code
    if isinstance(error, SequenceRejected):
        return _REASONS[error.reason]
    for kind in type(error).__mro__:
        if kind in _CODES:
            return _CODES[kind]
    _log.error("unexpected_error", exc_info=error)
    return ErrorCode.UNKNOWN_SERVER_ERROR


def message_of(error: BaseException) -> str | None:
    """Return the error message for `error`; None if the code says it all."""
    return error.message if isinstance(error, RequestRejected) else str(error) or None


EXPECTED: tuple[type[Exception], ...] = (RequestRejected, SequenceRejected, *_CODES)
"""The exceptions that a handler catches and returns as error codes."""
