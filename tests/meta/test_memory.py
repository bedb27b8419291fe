"""The contract of the memory store, over working and faulty links."""

from collections.abc import AsyncIterator

import pytest

from dray.meta.memory import DirectLink
from dray.testing.contracts.meta import MetaContract
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from tests.meta.memory_harness import MemoryHarness

FAULTS = FaultyLinkSettings(delay_ms=0.5, timeout_ms=1.0, late_ms=20.0)


class TestMemory(MetaContract):
    @pytest.fixture
    async def harness(self) -> AsyncIterator[MemoryHarness]:
        harness = MemoryHarness(DirectLink())
        yield harness
        await harness.close()


@pytest.mark.slow
class TestMemoryOverFaultyLinks(MetaContract):
    @pytest.fixture(params=[1, 2])
    async def harness(self, request: pytest.FixtureRequest) -> AsyncIterator[MemoryHarness]:
        harness = MemoryHarness(FaultyLink(SeededEntropy(request.param), FAULTS))
        yield harness
        await harness.close()
