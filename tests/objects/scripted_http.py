"""An HTTP server with scripted responses: throttled, silent, truncated."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Reply:
    """One response; `torn` sends half of the body and closes, `silent` waits for the client to close."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Literal["whole", "torn", "silent"] = "whole"

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Scripted", f"Content-Length: {len(self.body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "", ""]).encode()


def refusal(status: int, code: str, message: str = "scripted by the test") -> Reply:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Reply(status, body.encode(), {"Content-Type": "application/xml"})


def found(body: bytes, *, manner: Literal["whole", "torn", "silent"] = "whole") -> Reply:
    headers = {"Last-Modified": "Sun, 15 Nov 2026 10:00:00 GMT", "ETag": '"e"'}
    return Reply(200, body, headers, manner)


def found_range(body: bytes, start: int, size: int, *, torn: bool = False) -> Reply:
    headers = {
        "Last-Modified": "Sun, 15 Nov 2026 10:00:00 GMT",
        "ETag": '"e"',
        "Content-Range": f"bytes {start}-{start + len(body) - 1}/{size}",
    }
    return Reply(206, body, headers, "torn" if torn else "whole")


STORED = Reply(200, b"", {"ETag": '"e"'})


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class ScriptedServer:
    """Responds to the n-th request with the n-th reply, and to all further ones with the last."""

    def __init__(self, replies: list[Reply]) -> None:
        self._replies = replies
        self.requests: list[Request] = []
        self.endpoint = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append(await read_request(reader))
            reply = self._replies[min(len(self.requests), len(self._replies)) - 1]
            if reply.manner == "silent":
                await reader.read()
                return
            writer.write(reply.head())
            if self.requests[-1].method != "HEAD":
                writer.write(reply.body[: len(reply.body) // 2] if reply.manner == "torn" else reply.body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


@asynccontextmanager
async def scripted(*replies: Reply) -> AsyncIterator[ScriptedServer]:
    script = ScriptedServer(list(replies))
    server = await asyncio.start_server(script.answer, "127.0.0.1", 0)
    script.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield script
