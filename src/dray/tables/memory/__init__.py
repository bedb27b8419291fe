"""A catalogue in memory, for tests and simulation, and clients of it that can be made to fail."""

from dray.tables.memory.catalog import MemoryCatalog
from dray.tables.memory.faults import Fault, Faults, NoFaults, ScriptedFaults, SeededFaults
from dray.tables.memory.store import MemoryTables

__all__ = [
    "Fault",
    "Faults",
    "MemoryCatalog",
    "MemoryTables",
    "NoFaults",
    "ScriptedFaults",
    "SeededFaults",
]
