"""A metadata store in Oxia, for clusters of brokers."""

from dray.meta.oxia.access import OxiaAccess
from dray.meta.oxia.settings import OxiaMetaSettings
from dray.meta.oxia.store import OxiaMetaStore

__all__ = ["OxiaAccess", "OxiaMetaSettings", "OxiaMetaStore"]
