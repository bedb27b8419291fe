"""Consumer protocol: member epochs, valid and invalid."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


async def _settled(script: Script) -> tuple[ConsumerMember, ConsumerMember]:
    """a and b with two partitions each, both at the same epoch."""
    await create_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    with script.summarized("a and b have two partitions each"):
        await a.join()
        await b.join()
        await a.heartbeat()
        await a.confirm()
        await b.heartbeat()
        await b.confirm()
    script.note(f"both are at epoch {a.epoch}")
    return a, b


@scenario()
async def unknown_members(script: Script) -> None:
    """Unknown members, in a known and in an unknown group."""
    await create_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    for epoch in (1, -1):
        await b.heartbeat(epoch=epoch)
    await a.join()
    for epoch in (1, 7, -1):
        await b.heartbeat(epoch=epoch)
    await b.heartbeat(0, epoch=1)


@scenario()
async def future_epoch(script: Script) -> None:
    """An epoch that the member has not reached is fenced; the member stays and may join again."""
    a, b = await _settled(script)
    await a.heartbeat(epoch=a.epoch + 1)
    await a.heartbeat(epoch=2**31 - 1)
    await a.heartbeat()
    await a.join()
    await b.heartbeat()


@scenario()
async def previous_epoch(script: Script) -> None:
    """A member that missed a reply may send its previous epoch, if it owns only what it is assigned."""
    a, _ = await _settled(script)
    before = a.epoch - 1
    await a.heartbeat(epoch=before)
    await a.heartbeat(epoch=before, owned={"t": [0, 1, 2, 3]})
    await a.heartbeat(epoch=before, owned={"t": [2]})
    await a.heartbeat(epoch=before, owned={"t": [0]})
    await a.heartbeat(epoch=before, owned={"t": [0, 1]})
    await a.heartbeat(epoch=before, owned={})
    await a.heartbeat(epoch=before, owned={"nowhere": [0]})
    await a.heartbeat(epoch=before, topics=("t",), rebalance_ms=60_000, owned={"t": [0, 1]})
    await a.heartbeat()


@scenario()
async def older_epochs(script: Script) -> None:
    """Epochs before the previous one are fenced, whatever the member owns."""
    a, b = await _settled(script)
    known = a.epoch
    c = ConsumerMember(script, "c")
    await c.join()
    await a.heartbeat()
    await a.confirm()
    await a.heartbeat(epoch=known - 1, owned={})
    await a.heartbeat(epoch=known, owned={})
    await b.heartbeat(epoch=known - 1, owned={})


@scenario()
async def leaving_at_any_epoch(script: Script) -> None:
    """Leaving needs no epoch, only an id."""
    a, b = await _settled(script)
    known = a.epoch
    await a.leave()
    await a.leave()
    await a.heartbeat(epoch=known)
    await b.leave(0)
    await b.describe_consumer()
    await b.leave()


@scenario()
async def after_all_left(script: Script) -> None:
    """Epochs continue after all members have left."""
    a, b = await _settled(script)
    known = a.epoch
    await a.leave()
    await b.leave()
    await a.heartbeat(epoch=known)
    await a.describe_consumer()
    await a.join()
    await a.describe_consumer()
