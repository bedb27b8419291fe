"""Flushes of many domains: a few idle ones flush at once, the others one after another."""

from asyncio import Future

from dray.ids import MetaDomain, StreamId, meta_domain
from dray.log import Appended
from dray.log.flushes import Flushes
from tests.log.builders import OpenLog, Rig, outcomes, simulated

DOMAINS = 16
AT_ONCE = 4


def one_stream_per_domain() -> list[StreamId]:
    found: dict[MetaDomain, StreamId] = {}
    number = 0
    while len(found) < DOMAINS:
        number += 1
        found.setdefault(meta_domain(StreamId(number), DOMAINS), StreamId(number))
    return list(found.values())


STREAMS = one_stream_per_domain()


async def many_domains(rig: Rig, **settings: int) -> OpenLog:
    opened = await rig.open(domains=DOMAINS, **settings)
    for stream in STREAMS:
        await opened.log.create_stream(stream)
    return opened


async def send_to_all(opened: OpenLog, tag: str) -> list[Future[Appended]]:
    return [await opened.send(tag, stream) for stream in STREAMS]


@simulated
async def test_a_few_domains_flush_at_once_and_the_others_as_those_end(rig: Rig) -> None:
    opened = await many_domains(rig, linger_ms=60_000)
    opened.objects.hold_puts()
    sent = await send_to_all(opened, "a")
    for number in range(DOMAINS):
        await rig.settle(0.1)
        assert len(opened.objects.puts) == min(number + AT_ONCE, DOMAINS)
        opened.objects.let_put(number)
    assert await outcomes(*sent) == ["0"] * DOMAINS


@simulated
async def test_waiting_domain_gathers_batches_until_a_flush_ends(rig: Rig) -> None:
    opened = await many_domains(rig, linger_ms=60_000)
    opened.objects.hold_puts()
    sent = await send_to_all(opened, "a")
    await rig.settle()
    sent += [future for tag in "bc" for future in await send_to_all(opened, tag)]
    opened.objects.let_all()
    assert sorted(await outcomes(*sent)) == sorted(["0", "1", "2"] * DOMAINS)
    assert len(opened.objects.puts) == DOMAINS + AT_ONCE, "only the first few flushed twice"


@simulated
async def test_waiting_domain_flushes_when_it_has_lingered(rig: Rig) -> None:
    """Slow puts of some domains do not block the others for long."""
    opened = await many_domains(rig, linger_ms=50)
    opened.objects.hold_puts()
    await send_to_all(opened, "a")
    await rig.settle(0.049)
    assert len(opened.objects.puts) == AT_ONCE
    await rig.settle(0.002)
    assert len(opened.objects.puts) == DOMAINS
    opened.objects.let_all()
    await rig.settle()


@simulated
async def test_failed_flushes_give_way_too(rig: Rig) -> None:
    opened = await many_domains(rig, linger_ms=60_000)
    opened.objects.put_fault = lambda number: OSError("broken") if number < AT_ONCE else None
    sent = await send_to_all(opened, "a")
    found = await outcomes(*sent)
    assert found.count("0") == DOMAINS - AT_ONCE


def test_domains_wait_in_order_and_once() -> None:
    flushes, called = Flushes(), []

    def first() -> None:
        called.append("first")
        flushes.begun()

    def second() -> None:
        called.append("second")

    for _ in range(AT_ONCE):
        assert flushes.may_begin(first)
        flushes.begun()
    assert not flushes.may_begin(first)
    assert not flushes.may_begin(second)
    assert not flushes.may_begin(first)
    flushes.ended()
    assert called == ["first"]
    flushes.ended()
    assert called == ["first", "second"]
    assert flushes.may_begin(first)


CROWD = [StreamId(1000 + number) for number in range(20)]


async def crowded(rig: Rig, **settings: int) -> tuple[OpenLog, list[Future[Appended]]]:
    """Return a log whose first object was just committed, while batches of many streams had come."""
    opened = await rig.open(**settings)
    for stream in CROWD:
        await opened.log.create_stream(stream)
    opened.objects.hold_puts()
    sent = [await opened.send("a", CROWD[0])]
    await rig.settle()
    sent += [await opened.send("b", stream) for stream in CROWD]
    opened.objects.let_all()
    await rig.settle(0)
    return opened, sent


async def keep_sending(rig: Rig, opened: OpenLog, ms: int) -> list[Future[Appended]]:
    sent = []
    for _ in range(ms):
        sent.append(await opened.send("c", CROWD[0]))
        await rig.settle(0.001)
    return sent


@simulated
async def test_batches_of_many_streams_share_an_object_as_long_as_they_keep_coming(rig: Rig) -> None:
    opened, sent = await crowded(rig, linger_ms=60_000)
    sent += await keep_sending(rig, opened, 10)
    assert len(rig.paths()) == 1
    await rig.settle(0.005)
    assert len(rig.paths()) == 1, "a pause is longer than the gaps of a millisecond between these batches"
    await rig.settle(0.010)
    assert len(rig.paths()) == 2
    assert all(future.done() for future in sent)


@simulated
async def test_gathering_ends_after_a_few_linger_times(rig: Rig) -> None:
    opened, sent = await crowded(rig, linger_ms=20)
    sent += await keep_sending(rig, opened, 117)
    assert len(rig.paths()) == 1
    sent += await keep_sending(rig, opened, 6)
    assert len(rig.paths()) == 2
    await rig.settle()
    assert all(future.done() for future in sent)
