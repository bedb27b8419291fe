"""Authorization at catalogs, from settings as a compactor has them: OAuth2, tokens, signatures, TLS."""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from dray.runtime import RetrySettings, SystemClock, SystemEntropy
from dray.server.catalog import iceberg_settings
from dray.settings import SettingsError, load_settings
from dray.tables.iceberg import IcebergTables
from dray.tables.names import table_folder
from dray.tables.port import AccessDenied, Job, Unavailable
from dray.testing.contracts.tables import ORDERS
from tests.meta.certificates import Authority
from tests.tables.parquet import ParquetFiles
from tests.tables.rest.guard import Guard, guarded
from tests.tables.rest.server import RestServer

_numbers = count()
SECRET = "the-client-secret"
CREDENTIAL = {"DRAY_TABLES_CREDENTIAL": f"dray:{SECRET}"}
SIGNING = {"DRAY_TABLES_SIGNING_NAME": "glue", "DRAY_STORAGE_REGION": "eu-central-1"}
KEYS = {"DRAY_STORAGE_ACCESS_KEY_ID": "KEY", "DRAY_STORAGE_SECRET_ACCESS_KEY": "right"}


@pytest.fixture
def guard(rest_server: RestServer) -> Iterator[Guard]:
    with guarded(rest_server.uri) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@asynccontextmanager
async def opened(uri: str, root: Path, environ: dict[str, str] | None = None) -> AsyncIterator[IcebergTables]:
    """Open the catalog with the settings of a process with these variables."""
    given = {
        "DRAY_TABLES_CATALOG": uri,
        "DRAY_TABLES_NAMESPACE": f"guarded{next(_numbers)}",
        "DRAY_STORAGE_URL": f"file:{root}",
        **(environ or {}),
    }
    settings = load_settings(None, given, {}, []).settings
    iceberg = iceberg_settings(settings.tables, settings.storage, "cluster-1")
    object.__setattr__(iceberg, "attempts", RetrySettings(attempts=1))
    tables = IcebergTables(iceberg, SystemClock(), SystemEntropy())
    try:
        yield tables
    finally:
        await tables.close()


async def use(tables: IcebergTables, root: Path) -> None:
    """Create a table, commit to it, and list it."""
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    await tables.append(ORDERS, [ParquetFiles(root).file(0, 0, 5)], Job(f"job-{next(_numbers)}"))
    assert (await tables.listing()).tables == (ORDERS,)


async def refused(
    uri: str, root: Path, environ: dict[str, str], error: type[Exception] = AccessDenied
) -> str:
    async with opened(uri, root, environ) as tables:
        with pytest.raises(error) as refusal:
            await use(tables, root)
    return str(refusal.value)


@pytest.mark.real("java")
class TestOAuth2:
    async def test_credentials_are_exchanged_for_a_token(self, guard: Guard, root: Path) -> None:
        async with opened(guard.uri, root, CREDENTIAL) as tables:
            await use(tables, root)
        sent = {(one["client_id"], one["client_secret"], one["scope"]) for one in guard.grants}
        assert sent == {("dray", SECRET, "catalog")}
        assert {one["Authorization"] for one in guard.forwarded} <= {f"Bearer {one}" for one in guard.tokens}

    async def test_scope_and_server_are_those_of_the_settings(self, guard: Guard, root: Path) -> None:
        more = {
            "DRAY_TABLES_SCOPE": "PRINCIPAL_ROLE:dray",
            "DRAY_TABLES_OAUTH2_URI": f"{guard.uri}/elsewhere/token",
        }
        async with opened(guard.uri, root, CREDENTIAL | more) as tables:
            await use(tables, root)
        assert {asked["scope"] for asked in guard.grants} == {"PRINCIPAL_ROLE:dray"}
        assert set(guard.grant_paths) == {"/elsewhere/token"}

    async def test_token_that_is_no_longer_accepted_is_renewed(self, guard: Guard, root: Path) -> None:
        async with opened(guard.uri, root, CREDENTIAL) as tables:
            await use(tables, root)
            before = len(guard.grants)
            guard.tokens.clear()
            await tables.append(ORDERS, [ParquetFiles(root).file(1, 0, 5)], Job("later"))
        assert guard.forwarded[-1]["Authorization"] == f"Bearer token-{len(guard.grants)}"
        assert len(guard.grants) > before

    async def test_wrong_secret_is_refused_and_not_shown(self, guard: Guard, root: Path) -> None:
        text = await refused(guard.uri, root, {"DRAY_TABLES_CREDENTIAL": "dray:guessed"})
        assert "check the credentials for the catalog" in text
        assert "guessed" not in text


@pytest.mark.real("java")
class TestBearer:
    async def test_token_of_the_settings_is_sent(self, guard: Guard, root: Path) -> None:
        guard.tokens.add("issued-before")
        async with opened(guard.uri, root, {"DRAY_TABLES_TOKEN": "issued-before"}) as tables:
            await use(tables, root)
        assert {one["Authorization"] for one in guard.forwarded} == {"Bearer issued-before"}
        assert guard.grants == []

    async def test_wrong_token_is_refused_and_not_shown(self, guard: Guard, root: Path) -> None:
        text = await refused(guard.uri, root, {"DRAY_TABLES_TOKEN": "guessed"})
        assert "check the credentials for the catalog" in text
        assert "guessed" not in text


@pytest.mark.real("java")
class TestSignedRequests:
    async def test_requests_are_signed_with_the_keys_of_the_bucket(self, guard: Guard, root: Path) -> None:
        guard.keys["KEY"] = "right"
        async with opened(guard.uri, root, SIGNING | KEYS) as tables:
            await use(tables, root)
        assert guard.regions == {("eu-central-1", "glue")}

    async def test_session_token_and_region_of_its_own_are_used(self, guard: Guard, root: Path) -> None:
        guard.keys["KEY"] = "right"
        more = {"DRAY_STORAGE_SESSION_TOKEN": "temporary", "DRAY_TABLES_AWS_REGION": "us-west-2"}
        async with opened(guard.uri, root, SIGNING | KEYS | more) as tables:
            await use(tables, root)
        assert guard.regions == {("us-west-2", "glue")}
        assert {one["X-Amz-Security-Token"] for one in guard.forwarded} == {"temporary"}

    async def test_keys_come_from_the_environment(
        self, guard: Guard, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        guard.keys["KEY"] = "right"
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEY")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "right")
        async with opened(guard.uri, root, SIGNING) as tables:
            await use(tables, root)

    async def test_wrong_key_is_refused_and_not_shown(self, guard: Guard, root: Path) -> None:
        guard.keys["KEY"] = "right"
        wrong = KEYS | {"DRAY_STORAGE_SECRET_ACCESS_KEY": "guessed"}
        text = await refused(guard.uri, root, SIGNING | wrong)
        assert "check the credentials for the catalog" in text
        assert "guessed" not in text

    def test_signature_beside_a_token_is_refused(self, root: Path) -> None:
        with pytest.raises(SettingsError, match="signing_name is set beside credential or token"):
            load_settings(None, SIGNING | {"DRAY_TABLES_TOKEN": "x"}, {}, [])


@pytest.mark.real("java")
@pytest.mark.real("openssl")
class TestTls:
    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path / "certificates", "ours")

    @pytest.fixture
    def guard(self, rest_server: RestServer, authority: Authority) -> Iterator[Guard]:
        issued = authority.issue("server")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(issued.certificate, issued.key)
        with guarded(rest_server.uri, tls) as running:
            yield running

    async def test_private_authority_is_trusted_for_tokens_too(
        self, guard: Guard, authority: Authority, root: Path
    ) -> None:
        trusting = {"DRAY_TABLES_TLS_CA_FILE": str(authority.certificate)}
        async with opened(guard.uri, root, trusting | CREDENTIAL) as tables:
            await use(tables, root)
        assert guard.grants

    async def test_private_authority_is_trusted_for_signed_requests(
        self, guard: Guard, authority: Authority, root: Path
    ) -> None:
        guard.keys["KEY"] = "right"
        trusting = {"DRAY_TABLES_TLS_CA_FILE": str(authority.certificate)}
        given = trusting | SIGNING | KEYS
        async with opened(guard.uri, root, given) as tables:
            await use(tables, root)
        assert guard.forwarded

    async def test_unknown_authority_is_refused(self, guard: Guard, root: Path) -> None:
        text = await refused(guard.uri, root, {"DRAY_TABLES_TOKEN": "x"}, Unavailable)
        assert "certificate verify failed" in text
        assert guard.forwarded == []

    async def test_missing_file_is_named(self, guard: Guard, root: Path) -> None:
        missing = {"DRAY_TABLES_TLS_CA_FILE": f"{root}/missing.pem"}
        text = await refused(guard.uri, root, missing, Unavailable)
        assert f"cannot read certificates from tables.tls_ca_file {root}/missing.pem" in text
