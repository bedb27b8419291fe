"""A server of Oxia's client protocol for tests, with its oddities and with faults on request."""

from dray.testing.oxia_server.faults import Fault, Faults, NoFaults, RandomFaults, ScriptedFaults
from dray.testing.oxia_server.server import OxiaServer, OxiaServerSettings

__all__ = [
    "Fault",
    "Faults",
    "NoFaults",
    "OxiaServer",
    "OxiaServerSettings",
    "RandomFaults",
    "ScriptedFaults",
]
