"""The networked metadata stores that the settings describe. gRPC is imported only when one is used."""

import os
from typing import TYPE_CHECKING

from dray.meta.port import MetaStore
from dray.meta.urls import parse_etcd_url, parse_oxia_url
from dray.runtime import Clock, Entropy, LazyModule, RetrySettings, Tasks
from dray.settings.tree import MetadataSettings

if TYPE_CHECKING:
    from dray.meta import etcd, grpc_tls, oxia
else:
    grpc_tls = LazyModule("dray.meta.grpc_tls")
    etcd = LazyModule("dray.meta.etcd")
    oxia = LazyModule("dray.meta.oxia")


async def open_etcd(settings: MetadataSettings, *, clock: Clock, entropy: Entropy, tasks: Tasks) -> MetaStore:
    """Open the store; raises `MetaError`."""
    _silence_grpc()
    url = parse_etcd_url(settings.url)
    password = None if settings.password is None else settings.password.reveal()
    return await etcd.EtcdMetaStore.open(
        etcd.EtcdAccess(url.addresses, url.prefix, _tls(settings), settings.username, password),
        clock=clock,
        entropy=entropy,
        tasks=tasks,
        settings=etcd.EtcdMetaSettings(
            wait_ms=settings.commit_timeout_ms,
            request_bytes_max=settings.etcd_request_bytes_max,
            history_ms=settings.etcd_history_ms,
        ),
    )


async def open_oxia(settings: MetadataSettings, *, clock: Clock, entropy: Entropy, tasks: Tasks) -> MetaStore:
    """Open the store; raises `MetaError`."""
    _silence_grpc()
    url = parse_oxia_url(settings.url)
    retry = RetrySettings(first_ms=20.0, max_ms=1_000.0, budget_ms=settings.commit_timeout_ms)
    token = None if settings.token is None else settings.token.reveal()
    access = oxia.OxiaAccess(_tls(settings), token, settings.token_file)
    return await oxia.OxiaMetaStore.open(
        oxia.OxiaMetaSettings(url.addresses, url.namespace, access, retry=retry),
        clock=clock,
        entropy=entropy,
        tasks=tasks,
    )


def _tls(settings: MetadataSettings) -> "grpc_tls.TlsFiles | None":
    if settings.tls_ca_file is None:
        return None
    return grpc_tls.TlsFiles(settings.tls_ca_file, settings.tls_certificate_file, settings.tls_key_file)


def _silence_grpc() -> None:
    """Keep gRPC from writing to standard error; its calls return the errors."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
