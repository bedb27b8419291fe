"""The contract of the Oxia store: over our server of its protocol, and over a real one if there is one."""

from collections.abc import AsyncIterator, Iterator

import pytest

from dray.testing.contracts.meta import MetaContract
from dray.testing.entropy import SeededEntropy
from dray.testing.oxia_server import OxiaServerSettings, RandomFaults
from tests.meta import real_oxia
from tests.meta.oxia_harness import TTL_MS, OxiaHarness, RealOxiaHarness, served

SETTINGS = {
    "one shard": OxiaServerSettings(session_ttl_min_ms=TTL_MS),
    "four shards on two nodes": OxiaServerSettings(shards=4, ports=(0, 0), session_ttl_min_ms=TTL_MS),
    "natural sorting": OxiaServerSettings(sorting="natural", session_ttl_min_ms=TTL_MS),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with real_oxia.serve(tmp_path_factory.mktemp("oxia")) as address:
        yield address


class TestOxia(MetaContract):
    @pytest.fixture(params=SETTINGS)
    async def harness(self, request: pytest.FixtureRequest) -> AsyncIterator[OxiaHarness]:
        async with served(SETTINGS[request.param]) as harness:
            yield harness


@pytest.mark.slow
class TestOxiaWithFaults(MetaContract):
    @pytest.fixture(params=[1, 2])
    async def harness(self, request: pytest.FixtureRequest) -> AsyncIterator[OxiaHarness]:
        faults = RandomFaults(SeededEntropy(request.param), odds=0.1, late_s=0.05)
        async with served(SETTINGS["four shards on two nodes"], faults) as harness:
            yield harness


@pytest.mark.real("oxia")
class TestRealOxia(MetaContract):
    @pytest.fixture
    async def harness(self, address: str) -> AsyncIterator[RealOxiaHarness]:
        await real_oxia.empty(address)
        harness = RealOxiaHarness(address, session_ttl_min_ms=2_000)
        yield harness
        await harness.close()
