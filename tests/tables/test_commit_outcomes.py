"""Lost responses, lost requests and unavailable catalogs: a job is done once, and errors are truthful."""

import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from pyiceberg import exceptions as theirs
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.exc import OperationalError

from dray.runtime import RetrySettings, SystemClock, SystemEntropy
from dray.tables.iceberg import (
    IcebergSettings,
    IcebergTables,
    RestCatalogSettings,
    SqlCatalogSettings,
    commits,
    errors,
)
from dray.tables.iceberg.data_files import Root
from dray.tables.names import table_folder
from dray.tables.port import (
    ANY_SNAPSHOT,
    AccessDenied,
    Conflict,
    FilesMissing,
    Job,
    OutcomeUnknown,
    RequestRejected,
    Retriable,
    TableMissing,
    TablesError,
    Unavailable,
)
from dray.testing.contracts.tables import ORDERS, live
from tests.tables.iceberg_harness import IcebergHarness

Commit = Callable[..., Any]


class ScriptedCommits:
    """Wraps `commit_table` of a catalog and makes the next calls fail as scripted."""

    def __init__(self, kind: type[Catalog], monkeypatch: pytest.MonkeyPatch) -> None:
        self.kind = kind
        self.script: list[str] = []
        self.overtake: Callable[[], None] | None = None
        self.afterwards: Callable[[], None] | None = None
        self.calls = 0
        real: Commit = kind.commit_table

        def commit_table(catalog: Catalog, *arguments: Any) -> Any:
            self.calls += 1
            todo = self.script.pop(0) if self.script else "pass"
            first, self.overtake = self.overtake, None
            if first is not None:
                first()
            if todo == "conflict":
                raise theirs.CommitFailedException("another commit was first")
            if todo == "lost request":
                raise requests.ConnectionError("reset by peer")
            response = real(catalog, *arguments)
            if self.afterwards is not None:
                self.afterwards()
            if todo == "lost response":
                raise requests.ReadTimeout("no response in time")
            if todo == "bad gateway":
                raise theirs.CommitStateUnknownException("502")
            return response

        monkeypatch.setattr(kind, "commit_table", commit_table)


@pytest.fixture(params=["sql", pytest.param("rest", marks=pytest.mark.real("java"))])
def harness(request: pytest.FixtureRequest) -> IcebergHarness:
    found: IcebergHarness = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def scripted(harness: IcebergHarness, monkeypatch: pytest.MonkeyPatch) -> ScriptedCommits:
    kind = SqlCatalog if isinstance(harness.settings.catalog, SqlCatalogSettings) else RestCatalog
    return ScriptedCommits(kind, monkeypatch)


@pytest.fixture
def unserved_rest_settings(tmp_path: Path) -> IcebergSettings:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{held.getsockname()[1]}"
    return IcebergSettings(
        catalog=RestCatalogSettings(uri=uri),
        root=tmp_path.as_uri(),
        cluster_id="cluster-1",
        attempts=RetrySettings(attempts=2),
    )


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        (["lost request"], 2),
        (["lost response"], 1),
        (["bad gateway"], 1),
        (["conflict"], 2),
        (["conflict", "lost request", "lost response"], 3),
    ],
)
async def test_lost_response_is_looked_up(
    harness: IcebergHarness, scripted: ScriptedCommits, script: list[str], calls: int
) -> None:
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    old = harness.file(0, 0, 5)
    scripted.calls, scripted.script = 0, list(script)
    done = await tables.append(ORDERS, [old], Job("a"))
    assert (scripted.script, scripted.calls) == ([], calls)
    state = await tables.current(ORDERS)
    assert (state.snapshot_id, state.files) == (done.snapshot_id, (live(old),))
    new = harness.file(0, 0, 5)
    scripted.calls, scripted.script = 0, list(script)
    await tables.replace(ORDERS, [old.path], [new], Job("b"))
    assert (scripted.script, scripted.calls) == ([], calls)
    assert (await tables.current(ORDERS)).files == (live(new),)


async def test_repeated_conflicts_raise_conflict(harness: IcebergHarness, scripted: ScriptedCommits) -> None:
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    scripted.script = ["conflict"] * 100
    with pytest.raises(Conflict, match=r"orders_x2e_v1_x2d_eu"):
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
    scripted.script = []
    assert (await tables.current(ORDERS)).files == ()


async def test_pyiceberg_never_tries_again_by_itself(
    harness: IcebergHarness, scripted: ScriptedCommits
) -> None:
    """The table sets the property that would allow it; such a retry would not check for the job."""
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    with harness.theirs(ORDERS).transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "4", "commit.retry.min-wait-ms": "1"})
    file, job = harness.file(0, 0, 5), Job("a")

    def overtake() -> None:
        root = Root(harness.settings.root)
        target = commits.Target(lambda: harness.theirs(ORDERS), lambda _: None, root)
        commits.append(target, [file], job, ANY_SNAPSHOT)

    scripted.overtake = overtake
    assert (await tables.append(ORDERS, [file], job)).repeated
    state = await tables.current(ORDERS)
    assert state.files == (live(file),)
    assert state.properties["commit.retry.num-retries"] == "4"


async def test_unknown_outcome_persists_until_looked_up(
    harness: IcebergHarness, scripted: ScriptedCommits, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    file, job = harness.file(0, 0, 5), Job("a")

    def away(*_: Any) -> None:
        raise requests.ConnectionError("refused")

    scripted.script = ["lost response"]
    scripted.afterwards = lambda: monkeypatch.setattr(scripted.kind, "load_table", away)
    with pytest.raises(OutcomeUnknown, match="earlier attempt"):
        await tables.append(ORDERS, [file], job)
    with pytest.raises(Unavailable):
        await tables.append(ORDERS, [file], job)
    monkeypatch.undo()
    assert (await tables.append(ORDERS, [file], job)).repeated
    assert (await tables.current(ORDERS)).files == (live(file),)


async def test_unavailable_catalog_raises_retriable(unserved_rest_settings: IcebergSettings) -> None:
    tables = IcebergTables(unserved_rest_settings, SystemClock(), SystemEntropy())
    for call in (partial(tables.create_if_missing, folder="iceberg/x"), tables.current, tables.drop):
        with pytest.raises(Retriable):
            await call(ORDERS)
    await tables.close()


@pytest.mark.parametrize(
    ("raised", "when_reading", "when_committing"),
    [
        (theirs.CommitFailedException("x"), Conflict, Conflict),
        (theirs.ValidationException("x"), FilesMissing, FilesMissing),
        (theirs.NoSuchTableError("x"), TableMissing, TableMissing),
        (theirs.NoSuchNamespaceError("x"), TableMissing, TableMissing),
        (theirs.UnauthorizedError("x"), AccessDenied, AccessDenied),
        (theirs.ForbiddenError("x"), AccessDenied, AccessDenied),
        (PermissionError("x"), AccessDenied, AccessDenied),
        (theirs.BadRequestError("x"), RequestRejected, RequestRejected),
        (theirs.RESTError("422"), RequestRejected, RequestRejected),
        (theirs.ServiceUnavailableError("x"), Unavailable, OutcomeUnknown),
        (theirs.ServerError("x"), Unavailable, OutcomeUnknown),
        (theirs.CommitStateUnknownException("x"), Unavailable, OutcomeUnknown),
        (requests.ReadTimeout("x"), Unavailable, OutcomeUnknown),
        (OperationalError("SELECT", {}, Exception("locked")), Unavailable, OutcomeUnknown),
        (OSError("read of a in s3://b: no connection"), Unavailable, OutcomeUnknown),
        (PermissionError("read of a in s3://b: HTTP 403 AccessDenied"), AccessDenied, AccessDenied),
    ],
)
def test_errors_name_the_remedy(
    raised: Exception, when_reading: type[TablesError], when_committing: type[TablesError]
) -> None:
    with pytest.raises(when_reading, match=r"table a\.b"), errors.reading("table a.b"):
        raise raised
    with pytest.raises(when_committing, match=r"table a\.b"), errors.committing("table a.b"):
        raise raised


def test_programming_errors_propagate() -> None:
    with pytest.raises(KeyError), errors.committing("table a.b"):
        raise KeyError("x")
