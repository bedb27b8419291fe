"""The one leader epoch there is, and what is said to clients that know another."""

from dray.api.errors import Refused
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode

_ANY = -1


def check_epoch(known: int) -> Refused | None:
    """Return what to say to a client that believes in `known`; None if it is right, or does not say."""
    if known in (_ANY, LEADER_EPOCH):
        return None
    if known > LEADER_EPOCH:
        return Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)
    return Refused(ErrorCode.FENCED_LEADER_EPOCH)
