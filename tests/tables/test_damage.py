"""Damaged tables: reported with the file and the remedy, without effect on other tables."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from dray.runtime import RetrySettings, SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergSettings, IcebergTables, RestCatalogSettings
from dray.tables.iceberg.catalogs import open_catalog
from dray.tables.iceberg.ownership import identifier
from dray.tables.names import table_folder
from dray.tables.port import Job, OutcomeUnknown, TableDamaged, TopicTable, Unavailable
from dray.testing.contracts.tables import ORDERS, live
from tests.tables.iceberg_harness import IcebergHarness

pytestmark = pytest.mark.slow

OTHER = TopicTable("other", "topic-id-2")
REMEDY = "restore it from a backup, or drop the table: a topic's table is rebuilt"


async def _two(sql: IcebergHarness) -> IcebergTables:
    tables = await sql.open()
    for table in (ORDERS, OTHER):
        await tables.create_if_missing(table, table_folder(table.topic))
        await tables.append(table, [sql.file(0, 0, 5)], Job(f"a-{table.topic}"))
    return tables


def _metadata(sql: IcebergHarness) -> Path:
    return Path(sql.theirs(ORDERS).metadata_location.removeprefix("file://"))


def _list(sql: IcebergHarness) -> Path:
    snapshot = sql.theirs(ORDERS).current_snapshot()
    assert snapshot is not None
    return Path(snapshot.manifest_list.removeprefix("file://"))


async def test_metadata_file_cut_short_concerns_its_own_table(sql: IcebergHarness) -> None:
    tables, file = await _two(sql), _metadata(sql)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    listing = await tables.listing()
    assert listing.tables == (OTHER,)
    assert ORDERS in listing
    assert isinstance(listing.unreadable[ORDERS.topic], TableDamaged)
    for call in (
        partial(tables.create_if_missing, folder="iceberg/x"),
        tables.check,
        tables.current,
        tables.reachable,
        tables.drop,
    ):
        with pytest.raises(TableDamaged, match=rf"dray\.orders_x2e_v1_x2d_eu .*{file.name}.*{REMEDY}"):
            await call(ORDERS)
    with pytest.raises(TableDamaged):
        await tables.append(ORDERS, [sql.file(0, 5, 5)], Job("b"))
    await tables.append(OTHER, [sql.file(0, 5, 5)], Job("b"))
    file.write_bytes(whole)
    assert (await tables.listing()).unreadable == {}


async def test_truncated_manifest_list_is_reported_with_its_file(sql: IcebergHarness) -> None:
    tables, file = await _two(sql), _list(sql)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableDamaged, match=rf"dray\.orders_x2e_v1_x2d_eu .*{file.name}.*{REMEDY}"):
        await tables.current(ORDERS)
    second = sql.file(0, 5, 5)
    with pytest.raises(TableDamaged, match=REMEDY):
        await tables.append(ORDERS, [second], Job("b"))
    file.write_bytes(whole)
    await tables.append(ORDERS, [second], Job("b"))
    assert live(second) in (await tables.current(ORDERS)).files


def _damaged(file: Path, times: int) -> Iterator[None]:
    """Cut the file short, or change a few bytes of it, in ever other ways."""
    whole, chance = file.read_bytes(), random.Random(7)
    for _ in range(times):
        bad = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.5 else whole)
        for _ in range(3 if bad else 0):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        file.write_bytes(bytes(bad))
        yield


@pytest.mark.parametrize("which", [_metadata, _list])
async def test_damaged_files_do_not_crash_the_process(
    sql: IcebergHarness, which: Callable[[IcebergHarness], Path]
) -> None:
    tables = await _two(sql)
    reported = 0
    for _ in _damaged(which(sql), 60):
        try:
            await tables.current(ORDERS)
        except TableDamaged:
            reported += 1
    assert reported > 30


async def test_missing_metadata_file_keeps_no_other_table_from_being_listed(sql: IcebergHarness) -> None:
    tables = await _two(sql)
    _metadata(sql).unlink()
    listing = await tables.listing()
    assert (listing.tables, list(listing.unreadable)) == ((OTHER,), [ORDERS.topic])


async def test_damaged_table_that_is_dropped_can_be_recreated(sql: IcebergHarness) -> None:
    tables = await _two(sql)
    _metadata(sql).write_bytes(b"{")
    sql.external.drop_table(identifier(sql.settings, ORDERS))
    assert ORDERS not in await tables.listing()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    assert (await tables.current(ORDERS)).files == ()


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """Serve a response on every path that is not one of a catalog."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET  # noqa: N815 - its name

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>welcome</html>",
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"defaults": 7}',
        b"\xff\xfe",
        b'{"defaults": {}, "overrides": {}}',
        b'{"defaults": {}, "overrides": {}, "endpoints": ["x"]}',
    ],
)
async def test_response_that_is_not_from_a_catalog_is_reported(answer: bytes, tmp_path: Path) -> None:
    with _answering(answer) as uri:
        settings = IcebergSettings(
            catalog=RestCatalogSettings(uri=uri, request_s=30),
            root=tmp_path.as_uri(),
            cluster_id="cluster-1",
            attempts=RetrySettings(first_ms=1, max_ms=2, budget_ms=50, attempts=2),
        )
        tables = IcebergTables(settings, SystemClock(), SystemEntropy())
        for call in (tables.listing(), tables.current(ORDERS)):
            with pytest.raises(Unavailable, match="not that of an Iceberg catalog"):
                await call
        with pytest.raises((Unavailable, OutcomeUnknown), match="not that of an Iceberg catalog"):
            await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        await tables.close()


def test_catalog_with_omitted_snapshots_is_rejected(tmp_path: Path) -> None:
    """A sweep would take the files of those that it is not shown."""
    defaults = b'{"defaults": {}, "overrides": {"snapshot-loading-mode": "refs"}}'
    with _answering(defaults) as uri:
        catalog = RestCatalogSettings(uri=uri, request_s=5, properties={"snapshot-loading-mode": "refs"})
        opened = open_catalog(
            IcebergSettings(catalog=catalog, root=tmp_path.as_uri(), cluster_id="cluster-1")
        )
    assert opened.properties["snapshot-loading-mode"] == "all"
