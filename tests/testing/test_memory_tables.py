"""Faults of the in-memory catalog, on which simulations rely."""

import pytest

from dray.runtime import SystemClock
from dray.tables.names import table_folder
from dray.tables.port import Conflict, DataFile, Job, OutcomeUnknown, TableMissing, TablesError, Unavailable
from dray.testing.contracts.tables import ORDERS, live
from dray.testing.entropy import SeededEntropy
from dray.testing.memory_tables import Fault, MemoryCatalog, MemoryTables, ScriptedFaults, SeededFaults

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
async def test_job_is_retried_after_a_fault(fault: Fault, error: type[TablesError], happened: bool) -> None:
    catalog = catalog_with_table()
    faults = ScriptedFaults("append", [fault])
    tables = MemoryTables(catalog, faults)
    with pytest.raises(error):
        await tables.append(ORDERS, [FILE], Job("a"))
    assert faults.spent
    assert bool(catalog.current(ORDERS).files) is happened
    assert (await tables.append(ORDERS, [FILE], Job("a"))).repeated is happened
    assert (await tables.current(ORDERS)).files == (live(FILE),)


async def test_append_to_a_table_dropped_just_before_raises_table_missing() -> None:
    tables = MemoryTables(catalog_with_table(), ScriptedFaults("append", [None, "dropped"]))
    await tables.append(ORDERS, [FILE], Job("a"))
    with pytest.raises(TableMissing):
        await tables.append(ORDERS, [FILE], Job("b"))
    assert (await tables.listing()).tables == ()


@pytest.mark.parametrize("fault", ["refuse", "lost_request", "lost_answer"])
async def test_failed_read_is_unavailable_and_never_outcome_unknown(fault: Fault) -> None:
    tables = MemoryTables(catalog_with_table(), ScriptedFaults("current", [fault]))
    with pytest.raises(Unavailable):
        await tables.current(ORDERS)


async def test_external_row_delete_marks_the_file() -> None:
    catalog = catalog_with_table()
    tables = MemoryTables(catalog)
    await tables.append(ORDERS, [FILE], Job("a"))
    catalog.external_delete_rows(ORDERS, FILE.path)
    assert [file.has_deletes for file in (await tables.current(ORDERS)).files] == [True]


def test_seeded_faults_are_reproducible_and_keep_their_probabilities() -> None:
    def drawn(seed: int) -> list[Fault | None]:
        faults = SeededFaults(SeededEntropy(seed), {"refuse": 0.2, "conflict": 0.3})
        return [faults.draw("append") for _ in range(1_000)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    counts = {fault: drawn(1).count(fault) for fault in set(drawn(1))}
    assert counts.keys() == {None, "refuse", "conflict"}
    assert 150 < counts["refuse"] < 250 < counts["conflict"] < 350
