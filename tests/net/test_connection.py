"""Connections over real sockets: order, pipelining, back-pressure, limits, draining."""

import asyncio

import pytest

from dray.net import CannotListen, ListenerSpec, NetSettings
from dray.runtime import Tasks
from tests.net.serving import HOST, Script, close, closed, framed, read, served, server_with


async def test_responses_are_in_the_order_of_the_requests_while_later_ones_are_begun() -> None:
    script = Script()
    async with served(script) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"wait:one") + framed(b"two") + framed(b"three"))
        await script.until_begun(3)
        script.held.setdefault(b"wait:one", asyncio.Event()).set()
        assert [await read(reader) for _ in range(3)] == [b"wait:one", b"two", b"three"]
        await close(writer)


async def test_request_without_a_response_is_skipped() -> None:
    async with served(Script()) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"silent") + framed(b"loud"))
        assert await read(reader) == b"loud"
        await close(writer)


async def test_large_requests_are_received_completely() -> None:
    async with served(Script()) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        payload = bytes(range(256)) * 20_000
        for _ in range(3):
            writer.write(framed(payload))
            assert await read(reader) == payload
        await close(writer)


@pytest.mark.parametrize("request_bytes", [b"bad", b"broken"])
async def test_failing_request_closes_only_its_connection(request_bytes: bytes) -> None:
    async with served(Script()) as (_, port):
        bad, bad_writer = await asyncio.open_connection(HOST, port)
        good, good_writer = await asyncio.open_connection(HOST, port)
        bad_writer.write(framed(request_bytes))
        assert await closed(bad)
        good_writer.write(framed(b"good"))
        assert await read(good) == b"good"
        await close(bad_writer)
        await close(good_writer)


async def test_peer_can_be_disconnected_after_its_request_was_answered() -> None:
    script = Script()
    async with served(script) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"silent") + framed(b"loud"))
        assert await read(reader) == b"loud"
        script.peers[0].disconnect("it failed later")
        assert await closed(reader)
        script.peers[0].disconnect("again, which is not an error")
        await close(writer)


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"])
async def test_invalid_length_closes_the_connection(length: bytes) -> None:
    async with served(Script()) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(length + b"x" * 10)
        assert await closed(reader)
        await close(writer)


async def test_invalid_length_after_many_requests_closes_the_connection_when_it_is_decoded() -> None:
    script = Script()
    async with served(script, in_flight_requests_max=2) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"silent") * 10 + b"\x7f\xff\xff\xff")
        assert await closed(reader)
        assert script.begun == [b"silent"] * 10
        await close(writer)


async def test_no_more_requests_are_begun_than_may_wait() -> None:
    script = Script()
    async with served(script, in_flight_requests_max=2) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        names = [b"wait:%d" % number for number in range(40)]
        for name in names:
            writer.write(framed(name.ljust(2_000, b".")))
        await script.until_begun(3)
        held = list(script.begun)
        for name in names:
            script.held.setdefault(name.ljust(2_000, b"."), asyncio.Event()).set()
        responses = [(await read(reader)).rstrip(b".") for _ in names]
        assert responses == names
        assert len(held) < len(names)
        await close(writer)


async def test_connections_above_the_limit_are_closed() -> None:
    async with served(Script(), connections_max=1) as (listener, port):
        first, first_writer = await asyncio.open_connection(HOST, port)
        first_writer.write(framed(b"hello"))
        assert await read(first) == b"hello"
        second, second_writer = await asyncio.open_connection(HOST, port)
        assert await closed(second)
        first_writer.write(framed(b"still here"))
        assert await read(first) == b"still here"
        await close(first_writer)
        await close(second_writer)
        assert listener.connections <= 1


async def test_stop_waits_for_responses_and_accepts_no_connections() -> None:
    script = Script()
    async with served(script) as (listener, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"wait:last"))
        await script.until_begun(1)
        stopping = asyncio.create_task(listener.stop())
        await asyncio.sleep(0)
        script.held.setdefault(b"wait:last", asyncio.Event()).set()
        assert await read(reader) == b"wait:last"
        await stopping
        assert await closed(reader)
        with pytest.raises(OSError, match=r"refused|Connect"):
            await asyncio.open_connection(HOST, port)
        await close(writer)


async def test_binding_an_address_in_use_fails_with_a_remedy() -> None:
    async with served(Script()) as (_, port):
        other = server_with(Tasks(), NetSettings())
        with pytest.raises(CannotListen, match=f"{port}.*in use.*choose another"):
            await other.bind(ListenerSpec(HOST, port))
