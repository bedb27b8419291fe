"""Why a group refuses what it is asked, in Kafka's words.

The names are those of Kafka's error codes; the numbers belong to the wire, which this room does not know.
"""

from enum import Enum, auto


class Fault(Enum):
    """What is answered; `NONE` when there is nothing wrong."""

    NONE = auto()
    COORDINATOR_NOT_AVAILABLE = auto()
    FENCED_INSTANCE_ID = auto()
    FENCED_MEMBER_EPOCH = auto()
    GROUP_ID_NOT_FOUND = auto()
    GROUP_MAX_SIZE_REACHED = auto()
    GROUP_SUBSCRIBED_TO_TOPIC = auto()
    ILLEGAL_GENERATION = auto()
    INCONSISTENT_GROUP_PROTOCOL = auto()
    INVALID_GROUP_ID = auto()
    INVALID_REGULAR_EXPRESSION = auto()
    INVALID_REQUEST = auto()
    INVALID_SESSION_TIMEOUT = auto()
    MEMBER_ID_REQUIRED = auto()
    NON_EMPTY_GROUP = auto()
    OFFSET_METADATA_TOO_LARGE = auto()
    REBALANCE_IN_PROGRESS = auto()
    STALE_MEMBER_EPOCH = auto()
    UNKNOWN_MEMBER_ID = auto()
    UNRELEASED_INSTANCE_ID = auto()
    UNSUPPORTED_ASSIGNOR = auto()
    UNSUPPORTED_VERSION = auto()
