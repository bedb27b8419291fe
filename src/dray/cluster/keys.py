"""Where what the cluster agrees on lives in the metadata store: all in one domain.

/dray/v1/brokers/<broker id>          a live broker (ephemeral)
/dray/v1/topics/<name>                a topic: id, streams, configs
/dray/v1/deleted-topics/<topic id>    streams of a deleted topic that are still to be removed
/dray/v1/group-configs/<group>        what was set for a group; its name is written as in a URL
/dray/v1/producer-ids                 the next producer id to be given out
"""

from functools import lru_cache
from urllib.parse import quote
from uuid import UUID

from dray.meta.port import Domain

CLUSTER_DOMAIN = Domain("cluster")
BROKERS_PREFIX = "/dray/v1/brokers/"
TOPICS_PREFIX = "/dray/v1/topics/"
GROUP_CONFIGS_PREFIX = "/dray/v1/group-configs/"
PRODUCER_IDS_KEY = "/dray/v1/producer-ids"
_DELETED_PREFIX = "/dray/v1/deleted-topics/"


def broker_key(broker_id: int) -> str:
    return f"{BROKERS_PREFIX}{broker_id}"


def brokers_range() -> tuple[str, str]:
    return BROKERS_PREFIX, f"{BROKERS_PREFIX}~"


def topic_key(name: str) -> str:
    return f"{TOPICS_PREFIX}{name}"


def topics_range() -> tuple[str, str]:
    return TOPICS_PREFIX, f"{TOPICS_PREFIX}~"


def deleted_key(topic_id: UUID) -> str:
    return f"{_DELETED_PREFIX}{topic_id.hex}"


def deleted_range() -> tuple[str, str]:
    return _DELETED_PREFIX, f"{_DELETED_PREFIX}~"


@lru_cache(maxsize=4096)  # every heartbeat asks
def group_configs_key(group_id: str) -> str:
    return f"{GROUP_CONFIGS_PREFIX}{quote(group_id, safe='').replace('~', '%7E')}"


def group_configs_range() -> tuple[str, str]:
    return GROUP_CONFIGS_PREFIX, f"{GROUP_CONFIGS_PREFIX}~"
