"""TLS, users, and stores that are refused: one clear line each."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from dray.meta.etcd import EtcdAccess, EtcdMetaSettings
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import TXN
from dray.meta.etcd.history import HistoryCompactor
from dray.meta.etcd.keys import FORMAT
from dray.meta.grpc_tls import TlsFiles
from dray.meta.port import MetaError, StoreUnusable, Unavailable
from dray.runtime import SystemClock
from dray.testing.contracts.meta_harness import D, changes_until, next_batch, put, value_of
from dray.testing.ports import free_port
from tests.meta.certificates import Authority
from tests.meta.etcd_cluster import EtcdCluster, enable_authentication
from tests.meta.etcd_harness import QUICK_ELECTIONS, fresh_prefix, opened

pytestmark = pytest.mark.real("etcd")

QUICK = EtcdMetaSettings(wait_ms=1_000, history_ms=0)


async def refused(access: EtcdAccess, error: type[MetaError], why: str) -> str:
    with pytest.raises(error, match=why) as refusal:
        async with opened((), QUICK, access):
            raise AssertionError("the store was opened")
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


class TestPrefix:
    async def test_foreign_prefix_is_refused_and_left_unchanged(self, etcd: EtcdCluster) -> None:
        access = EtcdAccess(etcd.addresses, fresh_prefix())
        async with opened(etcd.addresses) as store:
            theirs = api.PutRequest(key=f"{access.prefix}/theirs".encode(), value=b"1")
            operation = api.RequestOp(request_put=theirs)
            await store._endpoints.repeat(TXN, api.TxnRequest(success=[operation]))
        for _ in range(2):
            await refused(access, StoreUnusable, f"{access.prefix}/ .*another application; choose another")

    async def test_newer_format_is_refused(self, etcd: EtcdCluster) -> None:
        access = EtcdAccess(etcd.addresses, fresh_prefix())
        async with opened((), access=access) as store:
            await put(store, "/a")
            newer = api.PutRequest(key=f"{access.prefix}/format".encode(), value=b"%d" % (FORMAT + 1))
            operation = api.RequestOp(request_put=newer)
            await store._endpoints.repeat(TXN, api.TxnRequest(success=[operation]))
        await refused(access, StoreUnusable, f"format {FORMAT + 1}, this build of Dray reads {FORMAT}")

    async def test_prefixes_of_two_clusters_are_apart(self, etcd: EtcdCluster) -> None:
        prefix = fresh_prefix()
        one, other = (EtcdAccess(etcd.addresses, f"{prefix}{name}") for name in ("/one", "/one2"))
        async with opened((), access=one) as ours, opened((), access=other) as theirs:
            async with theirs.watch(D, "/") as batches:
                await next_batch(batches)
                await put(ours, "/a", b"ours")
                version = await put(theirs, "/b")
                assert await changes_until(batches, "/b") == {"/b": version}
            assert await theirs.scan(D, "/", "/~") != await ours.scan(D, "/", "/~")


class TestReachability:
    async def test_unreachable_endpoint_is_named(self) -> None:
        port = free_port()
        access = EtcdAccess((f"127.0.0.1:{port}",), "/dray")
        await refused(access, Unavailable, rf"127\.0\.0\.1:{port} .*refused.*check metadata\.url")

    async def test_unknown_host_is_named(self) -> None:
        await refused(
            EtcdAccess(("no.such.host.invalid:2379",), "/dray"), Unavailable, "no.such.host.invalid"
        )

    async def test_other_endpoints_are_tried(self, etcd: EtcdCluster) -> None:
        port = free_port()
        async with opened((f"127.0.0.1:{port}", *etcd.addresses)) as store:
            await put(store, "/a", b"1")
            assert await value_of(store, "/a") == b"1"

    async def test_server_that_is_not_etcd_is_refused(self) -> None:
        server = grpc.aio.server()
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            await refused(EtcdAccess((f"127.0.0.1:{port}",), "/dray"), StoreUnusable, "is not etcd")
        finally:
            await server.stop(None)

    async def test_old_version_is_refused(self) -> None:
        server = grpc.aio.server()
        status = grpc.unary_unary_rpc_method_handler(
            _old_status,
            request_deserializer=api.StatusRequest.FromString,
            response_serializer=api.StatusResponse.SerializeToString,
        )
        service = grpc.method_handlers_generic_handler("etcdserverpb.Maintenance", {"Status": status})
        server.add_generic_rpc_handlers((service,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            why = "version 3.4.23; upgrade it to 3.5.8"
            await refused(EtcdAccess((f"127.0.0.1:{port}",), "/dray"), StoreUnusable, why)
        finally:
            await server.stop(None)


async def _old_status(request: Any, context: Any) -> api.StatusResponse:
    return api.StatusResponse(version="3.4.23")


@pytest.mark.slow
class TestUsers:
    @pytest.fixture
    def access(self, tmp_path: Path) -> Iterator[EtcdAccess]:
        """A cluster with authentication, where `dray` may use one prefix."""
        with EtcdCluster(tmp_path, options=(*QUICK_ELECTIONS, "--auth-token-ttl=2")) as cluster:
            enable_authentication(cluster, "/granted")
            yield EtcdAccess(cluster.addresses, "/granted/x", None, "dray", "right")

    async def test_user_works_and_outlives_its_token(self, access: EtcdAccess) -> None:
        async with opened((), access=access) as store, store.watch(D, "/") as batches:
            await next_batch(batches)
            await put(store, "/a", b"1")
            await asyncio.sleep(4)
            version = await put(store, "/b", b"1")
            assert (await changes_until(batches, "/b"))["/b"] == version
            session = await store.session(1_000)
            await session.close()
            compactor = HistoryCompactor(store._endpoints, store._reads._layout, SystemClock(), 1_000)
            await compactor.step()
            await compactor.step()

    async def test_wrong_password_is_refused_and_not_shown(self, access: EtcdAccess) -> None:
        text = await refused(replace(access, password="hunter2"), StoreUnusable, "password of user 'dray'")
        assert "hunter2" not in text
        assert "hunter2" not in repr(replace(access, password="hunter2"))

    async def test_missing_user_is_refused(self, access: EtcdAccess) -> None:
        anonymous = replace(access, username=None, password=None)
        await refused(anonymous, StoreUnusable, "set metadata.username and metadata.password")

    async def test_prefix_without_permission_is_refused(self, access: EtcdAccess) -> None:
        why = "denies user 'dray' access to /other/; grant it: etcdctl role grant-permission"
        await refused(replace(access, prefix="/other"), StoreUnusable, why)

    async def test_user_without_authentication_enabled_is_accepted(self, etcd: EtcdCluster) -> None:
        access = EtcdAccess(etcd.addresses, fresh_prefix(), None, "dray", "unused")
        async with opened((), access=access) as store:
            await put(store, "/a")


@pytest.mark.slow
@pytest.mark.real("openssl")
class TestTls:
    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path / "ours", "ours")

    async def test_both_sides_are_authenticated(self, tmp_path: Path, authority: Authority) -> None:
        client = authority.issue("client")
        options = (*_server(authority), "--client-cert-auth", "--trusted-ca-file", str(authority.certificate))
        tls = TlsFiles(str(authority.certificate), str(client.certificate), str(client.key))
        with _tls_cluster(tmp_path, options) as cluster:
            access = EtcdAccess(cluster.addresses, "/dray", tls)
            async with opened((), access=access) as store, store.watch(D, "/") as batches:
                await next_batch(batches)
                version = await put(store, "/a", b"1")
                assert await changes_until(batches, "/a") == {"/a": version}
            anonymous = replace(access, tls=replace(tls, certificate=None, key=None))
            await refused(anonymous, StoreUnusable, r"check metadata\.tls_certificate_file")

    async def test_other_authority_is_refused(self, tmp_path: Path, authority: Authority) -> None:
        other = Authority(tmp_path / "other", "other")
        with _tls_cluster(tmp_path, _server(authority)) as cluster:
            access = EtcdAccess(cluster.addresses, "/dray", TlsFiles(str(other.certificate)))
            await refused(access, StoreUnusable, r"not signed by metadata\.tls_ca_file")

    async def test_expired_certificate_is_refused(self, tmp_path: Path, authority: Authority) -> None:
        expired = authority.issue("expired", expired=True)
        options = ("--cert-file", str(expired.certificate), "--key-file", str(expired.key))
        with _tls_cluster(tmp_path, options) as cluster:
            access = EtcdAccess(cluster.addresses, "/dray", TlsFiles(str(authority.certificate)))
            await refused(access, StoreUnusable, "its certificate has expired; renew it")

    async def test_certificate_of_another_host_is_refused(self, tmp_path: Path, authority: Authority) -> None:
        with _tls_cluster(tmp_path, _server(authority, "DNS:elsewhere.example")) as cluster:
            access = EtcdAccess(cluster.addresses, "/dray", TlsFiles(str(authority.certificate)))
            await refused(access, StoreUnusable, "its certificate is for another host name")

    async def test_tls_to_a_server_without_it_is_refused(
        self, etcd: EtcdCluster, authority: Authority
    ) -> None:
        access = EtcdAccess(etcd.addresses, "/dray", TlsFiles(str(authority.certificate)))
        await refused(access, Unavailable, r"if it does not speak TLS, unset metadata\.tls_ca_file")

    async def test_plain_connection_to_a_tls_server_is_refused(
        self, tmp_path: Path, authority: Authority
    ) -> None:
        with _tls_cluster(tmp_path, _server(authority)) as cluster:
            why = r"if it requires TLS, set metadata\.tls_ca_file"
            await refused(EtcdAccess(cluster.addresses, "/dray"), Unavailable, why)

    async def test_unusable_files_are_named(self, tmp_path: Path) -> None:
        missing, text = tmp_path / "missing.pem", tmp_path / "text.pem"
        text.write_text("not a certificate")
        for path, why in ((missing, "cannot read .*missing.pem"), (text, "text.pem.* not a PEM file")):
            await refused(EtcdAccess(("a:1",), "/dray", TlsFiles(str(path))), StoreUnusable, why)


def _server(authority: Authority, host: str = "IP:127.0.0.1") -> tuple[str, ...]:
    issued = authority.issue("server", host)
    return ("--cert-file", str(issued.certificate), "--key-file", str(issued.key))


def _tls_cluster(folder: Path, options: tuple[str, ...]) -> EtcdCluster:
    return EtcdCluster(folder / "etcd", scheme="https", options=(*QUICK_ELECTIONS, *options))
