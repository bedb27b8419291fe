"""In-memory table catalog for tests and simulation, with clients that inject faults."""

from dray.testing.memory_tables.catalog import MemoryCatalog
from dray.testing.memory_tables.faults import Fault, Faults, NoFaults, ScriptedFaults, SeededFaults
from dray.testing.memory_tables.store import MemoryTables

__all__ = [
    "Fault",
    "Faults",
    "MemoryCatalog",
    "MemoryTables",
    "NoFaults",
    "ScriptedFaults",
    "SeededFaults",
]
