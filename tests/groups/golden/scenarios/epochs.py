"""The consumer protocol: member epochs, right and wrong."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


async def _settled(script: Script) -> tuple[ConsumerMember, ConsumerMember]:
    """a and b with two partitions each, both at the same epoch."""
    await make_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    with script.offstage("a and b have two partitions each"):
        await a.join()
        await b.join()
        await a.beat()
        await a.confirm()
        await b.beat()
        await b.confirm()
    script.note(f"both are at epoch {a.epoch}")
    return a, b


@scenario()
async def strangers(script: Script) -> None:
    """Who is unknown, in a group that is unknown or not."""
    await make_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    for epoch in (1, -1):
        await b.beat(epoch=epoch)
    await a.join()
    for epoch in (1, 7, -1):
        await b.beat(epoch=epoch)
    await b.beat(0, epoch=1)


@scenario()
async def too_great(script: Script) -> None:
    """An epoch that the member never reached is fenced; the member stays and may begin again."""
    a, b = await _settled(script)
    await a.beat(epoch=a.epoch + 1)
    await a.beat(epoch=2**31 - 1)
    await a.beat()
    await a.join()
    await b.beat()


@scenario()
async def the_one_before(script: Script) -> None:
    """A member that did not get the last answer may repeat itself, if it uses no more than it has."""
    a, _ = await _settled(script)
    before = a.epoch - 1
    await a.beat(epoch=before)
    await a.beat(epoch=before, owned={"t": [0, 1, 2, 3]})
    await a.beat(epoch=before, owned={"t": [2]})
    await a.beat(epoch=before, owned={"t": [0]})
    await a.beat(epoch=before, owned={"t": [0, 1]})
    await a.beat(epoch=before, owned={})
    await a.beat(epoch=before, owned={"nowhere": [0]})
    await a.beat(epoch=before, topics=("t",), rebalance_ms=60_000, owned={"t": [0, 1]})
    await a.beat()


@scenario()
async def older_ones(script: Script) -> None:
    """An epoch before the one before is fenced, whatever the member uses."""
    a, b = await _settled(script)
    known = a.epoch
    c = ConsumerMember(script, "c")
    await c.join()
    await a.beat()
    await a.confirm()
    await a.beat(epoch=known - 1, owned={})
    await a.beat(epoch=known, owned={})
    await b.beat(epoch=known - 1, owned={})


@scenario()
async def leaving_at_any_epoch(script: Script) -> None:
    """Leaving needs no epoch, only an id."""
    a, b = await _settled(script)
    known = a.epoch
    await a.leave()
    await a.leave()
    await a.beat(epoch=known)
    await b.leave(0)
    await b.describe_consumer()
    await b.leave()


@scenario()
async def after_everybody_left(script: Script) -> None:
    """A group that was left by all goes on counting epochs."""
    a, b = await _settled(script)
    known = a.epoch
    await a.leave()
    await b.leave()
    await a.beat(epoch=known)
    await a.describe_consumer()
    await a.join()
    await a.describe_consumer()
