"""TLS and tokens of Oxia: they work over a socket, and what is wrong is one clear line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dray.meta.grpc_tls import TlsFiles
from dray.meta.oxia import OxiaAccess
from dray.meta.oxia.access import Tokens
from dray.meta.port import MetaError, StoreUnusable, Unavailable
from dray.runtime import RetrySettings, SystemClock
from dray.testing.clock import VirtualClock
from dray.testing.contracts.meta_harness import D, changes_until, next_batch, put, value_of
from dray.testing.oxia_server import OxiaServer, OxiaServerSettings
from dray.testing.virtual_loop import run, virtual_loop
from tests.meta.certificates import Authority, Certificate
from tests.meta.oxia_harness import TTL_MS, OxiaClients, OxiaHarness, served

QUICK = RetrySettings(first_ms=2.0, max_ms=50.0, budget_ms=500.0)
SECURED = OxiaServerSettings(session_ttl_min_ms=TTL_MS)


async def refused(server: OxiaServer, access: OxiaAccess, error: type[MetaError], why: str) -> str:
    clients = OxiaClients(*server.addresses, access=access, retry=QUICK)
    try:
        with pytest.raises(error, match=why) as refusal:
            await clients.open()
    finally:
        await clients.close()
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@asynccontextmanager
async def requiring(*tokens: str, access: OxiaAccess | None = None) -> AsyncIterator[OxiaHarness]:
    async with served(SECURED, access=access or OxiaAccess()) as harness:
        harness.server.tokens = set(tokens)
        yield harness


class TestTokens:
    async def test_token_is_sent_with_every_kind_of_call(self) -> None:
        async with requiring("right", access=OxiaAccess(token="right")) as harness:
            store = await harness.open()
            async with store.watch(D, "/") as batches:
                await next_batch(batches)
                version = await put(store, "/a", b"1")
                assert await changes_until(batches, "/a") == {"/a": version}
            assert await value_of(store, "/a") == b"1"
            assert len(await store.scan(D, "/", "/~")) == 1
            session = await store.session(TTL_MS)
            await session.close()

    async def test_wrong_token_is_refused_and_not_shown(self) -> None:
        async with requiring("right") as harness:
            access = OxiaAccess(token="hunter2")
            text = await refused(harness.server, access, StoreUnusable, r"refused the token .*not expired")
            assert "hunter2" not in text
            assert "hunter2" not in repr(access)

    async def test_missing_token_is_refused(self) -> None:
        async with requiring("right") as harness:
            why = r"requires authentication; set metadata\.token or metadata\.token_file"
            await refused(harness.server, OxiaAccess(), StoreUnusable, why)

    async def test_replaced_token_file_is_used_while_the_store_is_open(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        path.write_text("first\n")
        async with requiring("first", access=OxiaAccess(token_file=str(path))) as harness:
            store = await harness.open()
            await put(store, "/a", b"1")
            path.write_text("second\n")
            harness.server.tokens = {"second"}
            await put(store, "/b", b"2")
            assert await value_of(store, "/b") == b"2"
            harness.server.tokens = {"third"}
            with pytest.raises(StoreUnusable, match="refused the token"):
                await put(store, "/c")

    async def test_unusable_files_are_named(self, tmp_path: Path) -> None:
        empty = tmp_path / "empty"
        empty.write_text("\n")
        async with requiring("right") as harness:
            missing = OxiaAccess(token_file=f"{tmp_path}/none")
            await refused(harness.server, missing, StoreUnusable, "cannot read metadata.token_file, .*/none")
            why = "is not a token"
            await refused(harness.server, OxiaAccess(token_file=str(empty)), StoreUnusable, why)

    def test_token_and_token_file_exclude_each_other(self) -> None:
        with pytest.raises(StoreUnusable, match="not both"):
            Tokens(OxiaAccess(token="a", token_file="b"), SystemClock())

    def test_file_is_read_again_after_a_while(self, tmp_path: Path) -> None:
        async def body() -> None:
            path, clock = tmp_path / "token", VirtualClock(virtual_loop())
            path.write_text("first")
            tokens = Tokens(OxiaAccess(token_file=str(path)), clock)
            first = tokens.headers()
            assert first == (("authorization", "Bearer first"),)
            path.write_text("second")
            assert tokens.headers() == first
            await clock.sleep(5)
            assert tokens.headers() == (("authorization", "Bearer second"),)

        run(body())


@pytest.mark.slow
@pytest.mark.real("openssl")
class TestTls:
    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path / "ours", "ours")

    async def test_both_sides_are_authenticated(self, authority: Authority) -> None:
        client = authority.issue("client")
        settings = replace(with_tls(authority.issue("server")), client_authorities=authority.certificate)
        tls = TlsFiles(str(authority.certificate), str(client.certificate), str(client.key))
        async with served(settings, access=OxiaAccess(tls, token="right")) as harness:
            harness.server.tokens = {"right"}
            store = await harness.open()
            async with store.watch(D, "/") as batches:
                await next_batch(batches)
                version = await put(store, "/a", b"1")
                assert await changes_until(batches, "/a") == {"/a": version}
            anonymous = OxiaAccess(TlsFiles(str(authority.certificate)), token="right")
            why = r"check metadata\.tls_certificate_file"
            await refused(harness.server, anonymous, MetaError, why)

    async def test_other_authority_is_refused(self, tmp_path: Path, authority: Authority) -> None:
        other = Authority(tmp_path / "other", "other")
        async with served(with_tls(authority.issue("server"))) as harness:
            access = OxiaAccess(TlsFiles(str(other.certificate)))
            await refused(harness.server, access, StoreUnusable, r"not signed by metadata\.tls_ca_file")

    async def test_expired_certificate_is_refused(self, authority: Authority) -> None:
        async with served(with_tls(authority.issue("expired", expired=True))) as harness:
            access = OxiaAccess(TlsFiles(str(authority.certificate)))
            await refused(harness.server, access, StoreUnusable, "its certificate has expired; renew it")

    async def test_certificate_of_another_host_is_refused(self, authority: Authority) -> None:
        async with served(with_tls(authority.issue("server", "DNS:elsewhere.example"))) as harness:
            access = OxiaAccess(TlsFiles(str(authority.certificate)))
            await refused(harness.server, access, StoreUnusable, "its certificate is for another host name")

    async def test_tls_to_a_server_without_it_is_refused(self, authority: Authority) -> None:
        async with served() as harness:
            access = OxiaAccess(TlsFiles(str(authority.certificate)))
            await refused(
                harness.server, access, MetaError, r"does not speak TLS.* unset metadata\.tls_ca_file"
            )

    async def test_plain_connection_to_a_tls_server_is_refused(self, authority: Authority) -> None:
        async with served(with_tls(authority.issue("server"))) as harness:
            why = r"if it requires TLS, set metadata\.tls_ca_file"
            await refused(harness.server, OxiaAccess(), Unavailable, why)

    async def test_unusable_files_are_named(self, tmp_path: Path) -> None:
        text = tmp_path / "text.pem"
        text.write_text("not a certificate")
        with pytest.raises(StoreUnusable, match=r"text.pem, which is for TLS with Oxia, is not a PEM file"):
            await OxiaClients("a:1", access=OxiaAccess(TlsFiles(str(text)))).open()


def with_tls(issued: Certificate) -> OxiaServerSettings:
    return replace(SECURED, certificate=issued.certificate, key=issued.key)
