"""Every fault of the catalogue in memory does what it says, so that a simulation can rely on it."""

import pytest

from dray.runtime import SeededEntropy, SystemClock
from dray.tables.memory import Fault, MemoryCatalog, MemoryTables, ScriptedFaults, SeededFaults
from dray.tables.names import table_folder
from dray.tables.port import Conflict, DataFile, Job, OutcomeUnknown, TableMissing, TablesError, Unavailable
from dray.testing.contracts.tables import ORDERS, live

FILE = DataFile("a", 1, 5, 0, 0, 4)


def catalog_with_table() -> MemoryCatalog:
    catalog = MemoryCatalog(SystemClock())
    catalog.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    return catalog


@pytest.mark.parametrize(
    ("fault", "error", "happened"),
    [
        ("refuse", Unavailable, False),
        ("lost_request", OutcomeUnknown, False),
        ("lost_answer", OutcomeUnknown, True),
        ("conflict", Conflict, False),
    ],
)
async def test_a_fault_and_then_the_same_job_again(
    fault: Fault, error: type[TablesError], happened: bool
) -> None:
    catalog = catalog_with_table()
    faults = ScriptedFaults("append", [fault])
    tables = MemoryTables(catalog, faults)
    with pytest.raises(error):
        await tables.append(ORDERS, [FILE], Job("a"))
    assert faults.spent
    assert bool(catalog.current(ORDERS).files) is happened
    assert (await tables.append(ORDERS, [FILE], Job("a"))).repeated is happened
    assert (await tables.current(ORDERS)).files == (live(FILE),)


async def test_a_table_that_is_dropped_at_that_moment() -> None:
    tables = MemoryTables(catalog_with_table(), ScriptedFaults("append", [None, "dropped"]))
    await tables.append(ORDERS, [FILE], Job("a"))
    with pytest.raises(TableMissing):
        await tables.append(ORDERS, [FILE], Job("b"))
    assert (await tables.listing()).tables == ()


@pytest.mark.parametrize("fault", ["refuse", "lost_request", "lost_answer"])
async def test_a_read_that_fails_has_no_unknown_outcome(fault: Fault) -> None:
    tables = MemoryTables(catalog_with_table(), ScriptedFaults("current", [fault]))
    with pytest.raises(Unavailable):
        await tables.current(ORDERS)


async def test_rows_deleted_without_rewriting_are_shown() -> None:
    catalog = catalog_with_table()
    tables = MemoryTables(catalog)
    await tables.append(ORDERS, [FILE], Job("a"))
    catalog.somebody_deletes_rows(ORDERS, FILE.path)
    assert [file.has_deletes for file in (await tables.current(ORDERS)).files] == [True]


def test_a_seed_repeats_itself_and_chances_are_kept() -> None:
    def drawn(seed: int) -> list[Fault | None]:
        faults = SeededFaults(SeededEntropy(seed), {"refuse": 0.2, "conflict": 0.3})
        return [faults.draw("append") for _ in range(1_000)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    counts = {fault: drawn(1).count(fault) for fault in set(drawn(1))}
    assert counts.keys() == {None, "refuse", "conflict"}
    assert 150 < counts["refuse"] < 250 < counts["conflict"] < 350
