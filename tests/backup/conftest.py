"""An etcd server for each test process, as in tests/meta."""

from tests.meta.conftest import etcd

__all__ = ["etcd"]
