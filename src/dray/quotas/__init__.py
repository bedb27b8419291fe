"""Client quotas: entities and their limits, which limit counts for a client, rates and throttle times."""

from dray.quotas.entities import CLIENT_ID, IP, USER, Entity
from dray.quotas.filters import EntityFilter, FilterComponent, InvalidFilter, UnknownEntityType, parse_filter
from dray.quotas.precedence import AddressShare, Share, address_share_of, network_of, share_of
from dray.quotas.rates import WINDOW_MS, RateWindow
from dray.quotas.rules import InvalidQuota, QuotaKey, altered_limits
from dray.quotas.token_bucket import TokenBucket

__all__ = [
    "CLIENT_ID",
    "IP",
    "USER",
    "WINDOW_MS",
    "AddressShare",
    "Entity",
    "EntityFilter",
    "FilterComponent",
    "InvalidFilter",
    "InvalidQuota",
    "QuotaKey",
    "RateWindow",
    "Share",
    "TokenBucket",
    "UnknownEntityType",
    "address_share_of",
    "altered_limits",
    "network_of",
    "parse_filter",
    "share_of",
]
