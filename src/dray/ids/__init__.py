"""Names and small frozen values that every room may use. Nothing here does anything."""

from dray.ids.parquet import FileId
from dray.ids.streams import MetaDomain, StreamId, meta_domain
from dray.ids.topics import TopicRef
from dray.ids.wal import WalId

__all__ = ["FileId", "MetaDomain", "StreamId", "TopicRef", "WalId", "meta_domain"]
