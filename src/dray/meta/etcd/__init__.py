"""The metadata store on etcd."""

from dray.meta.etcd.settings import EtcdAccess, EtcdMetaSettings
from dray.meta.etcd.store import EtcdMetaStore

__all__ = ["EtcdAccess", "EtcdMetaSettings", "EtcdMetaStore"]
