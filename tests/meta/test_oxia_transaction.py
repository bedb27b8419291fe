"""Single steps of transactions on Oxia, with reads that are not a snapshot."""

from collections.abc import Sequence

import pytest

from dray.meta.oxia import OxiaMetaSettings
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.client import OxiaClient, Stored
from dray.meta.oxia.keys import data_key
from dray.meta.oxia.plan import CommitRequest, InRedo, State, plan_group
from dray.meta.oxia.records import Head, Redo, RedoPut, TransactionId, encode_head, encode_placeholder
from dray.meta.oxia.transaction import Attempt, HeadAt, HeadMoved, Transactions
from dray.meta.port import Put, Unavailable
from dray.runtime import SystemClock
from dray.testing.contracts.meta_harness import D, put
from dray.testing.oxia_server.faults import ANSWER_LOST
from tests.meta.oxia_harness import served
from tests.meta.test_oxia_faults import script


class ChangingReads(OxiaClient):
    """The first key of a read is read before a change, the others after it; writes are not expected."""

    def __init__(self, before: dict[str, Stored], after: dict[str, Stored]) -> None:
        super().__init__(OxiaMetaSettings(), SystemClock())
        self._states = [before, after]

    async def shard_of(self, partition_key: str) -> int:
        return 0

    async def read(self, shard: int, keys: Sequence[str]) -> list[Stored]:
        return [self._states[min(n, 1)].get(key, Stored(key)) for n, key in enumerate(keys)]

    async def write(self, shard: int, request: api.WriteRequest) -> api.WriteResponse:
        raise AssertionError(f"wrote {request}")


async def test_keys_that_change_during_a_read_give_no_view() -> None:
    before, after = ({"hd": Stored("hd", version, encode_head(Head()))} for version in (4, 5))
    with pytest.raises(HeadMoved):
        await Transactions(ChangingReads(before, after), D).view(["k1", "k2"])


async def test_placeholder_that_appears_after_the_transaction_is_not_used() -> None:
    """A helper must not apply its operations with a placeholder of a late duplicate."""
    id = TransactionId(b"writer", 1)  # noqa: A001
    pending = Head().with_pending(-1, id, Redo((RedoPut("k1", b"", None),)))
    before = {"hd": Stored("hd", 4, encode_head(pending))}
    applied = {"hd": Stored("hd", 9, encode_head(pending.applied()))}
    late_placeholder = {"k1": Stored("k1", 10, encode_placeholder(id))}
    with pytest.raises(HeadMoved):
        await Transactions(ChangingReads(before, applied | late_placeholder), D).apply(HeadAt(pending, 4))


async def test_versions_of_a_lost_commit_are_found_after_later_ones() -> None:
    async with served() as harness:
        other = await harness.open()
        client = OxiaClient(OxiaMetaSettings(endpoints=harness.server.addresses), SystemClock())
        transactions = Transactions(client, D)
        view = await transactions.view([data_key(D, "/a")])
        plan = plan_group(State(D, view.stored), [CommitRequest((), (Put("/a", b"1"),))])
        attempt = Attempt(TransactionId(b"writer", 1), view.at, plan, {})
        harness.server.faults = script("apply", ANSWER_LOST)
        with pytest.raises(Unavailable):
            await transactions.commit(attempt)
        await harness.server.late_requests()
        for n in range(3):
            applied = await transactions.settle(attempt)
            assert applied is not None
            (outcome,) = plan.outcomes
            assert isinstance(outcome, InRedo)
            entry = await other.get(D, "/a")
            assert entry is not None
            assert outcome.versions(applied).of == (entry.version,)
            await put(other, f"/{n}")
        await client.close()
