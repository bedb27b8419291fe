"""Log lines that clients cause: how many in a second, and what is said of the others."""

import asyncio

from dray.net.limited_lines import CLOSED_BY_CLIENT, LimitedLines
from dray.net.metrics import Cause
from tests.net.serving import HOST, Script, close, closed, framed, served
from tests.net.tls_serving import capture_logs


def test_closed_connections_are_logged_ten_times_a_second_with_the_number_of_others() -> None:
    lines = LimitedLines()
    with capture_logs() as logged:
        for number in range(25):
            lines.connection_closed(7.0, f"10.0.0.1:{number}", Cause.REFUSED, "no request")
        lines.connection_closed(8.0, "10.0.0.1:30", Cause.REFUSED, "no request")
    assert [(line["peer"], line.get("more")) for line in logged] == [
        *((f"10.0.0.1:{number}", None) for number in range(10)),
        ("10.0.0.1:30", 15),
    ]


def test_failed_handshakes_are_logged_once_a_second_and_not_if_the_client_ended_them() -> None:
    lines = LimitedLines()
    with capture_logs() as logged:
        for now in (1.0, 1.5, 2.0):
            lines.handshake_failed(now, "SSL", "10.0.0.1:1", CLOSED_BY_CLIENT)
            lines.handshake_failed(now, "SSL", "10.0.0.1:1", "no certificate")
        lines.connection_closed(2.0, "10.0.0.1:1", Cause.REFUSED, "counted by itself")
    assert [(line["reason"], line.get("more")) for line in logged] == [
        ("no certificate", None),
        ("no certificate", 1),
        ("counted by itself", None),
    ]


async def test_flood_of_malformed_requests_logs_few_lines() -> None:
    with capture_logs() as logged:
        async with served(Script()) as (_, port):
            for _ in range(60):
                reader, writer = await asyncio.open_connection(HOST, port)
                writer.write(framed(b"bad"))
                assert await closed(reader)
                await close(writer)
    lines = [line for line in logged if line["event"] == "connection_closed"]
    assert 10 <= len(lines) < 60
