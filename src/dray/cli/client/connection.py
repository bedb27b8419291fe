"""One connection to one broker.

A broker answers the requests of a connection in their order. So the order of `start` is the order in which
a broker gets to see the requests, and answers are matched by their place in a queue; the correlation id is
only compared. Who is cancelled while waiting leaves the answer to be read and dropped.

The first request asks which versions the broker serves, in version 0, which every broker understands.
"""

import asyncio
import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from dray.cli.addresses import Address
from dray.cli.client.errors import ClientError, Lost, NotKafka, Unreachable, raise_for
from dray.cli.client.versions import Versions
from dray.runtime import Tasks
from dray.wire import (
    LENGTH_BYTES,
    Api,
    Message,
    RequestHeader,
    WireError,
    decode_response,
    encode_request,
    frame_length,
)
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse

M = TypeVar("M", bound=Message)
Answer = asyncio.Future[Message]

CLIENT_ID: Final = "dray-cli"
_BUFFER_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request whose answer has not come."""

    correlation_id: int
    api: Api
    version: int
    answer: Answer


def _reason(error: OSError) -> str:
    """Say it in the system's words; asyncio puts its own in their place."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


class Connection:
    """Made by `open`; broken for good once it has failed."""

    def __init__(
        self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float
    ) -> None:
        self.address = address
        self._reader = reader
        self._writer = writer
        self._timeout_s = timeout_s
        self._versions = Versions(())
        self._waiting: deque[_Asked] = deque()
        self._asked = 0
        self._failure: ClientError | None = None

    @classmethod
    async def open(cls, address: Address, tasks: Tasks, timeout_s: float) -> "Connection":
        """Connect and learn the broker's versions; raises `Unreachable`, `Lost` or `NotKafka`."""
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(
                    address.host, address.port, limit=_BUFFER_BYTES
                )
        except TimeoutError:
            raise Unreachable(f"no connection within {timeout_s:g} s") from None
        except OSError as error:
            raise Unreachable(_reason(error)) from error
        connection = cls(address, reader, writer, timeout_s)
        tasks.start(connection._read_on(), name=f"answers of {address}")
        try:
            await connection._learn_versions()
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def usable(self) -> bool:
        return self._failure is None

    def start(self, api: Api, request: Message) -> Answer:
        """Send a request; what is returned gets the answer."""
        version = self._versions.best(api)
        return self._start(api, version, request)

    def tell(self, api: Api, request: Message) -> None:
        """Send a request that has no answer."""
        self._send(api, self._versions.best(api), request)

    async def ask(self, api: Api, request: Message, kind: type[M]) -> M:
        """Send a request and wait for its answer."""
        return await self._wait(self.start(api, request), kind)

    async def drain(self) -> None:
        """Wait until the peer has taken most of what was sent."""
        try:
            await self._writer.drain()
        except OSError as error:
            raise self._fail(Lost(f"the connection to {self.address} broke: {error}")) from error

    async def close(self) -> None:
        self._fail(Lost(f"the connection to {self.address} was closed"))
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def _start(self, api: Api, version: int, request: Message) -> Answer:
        self._send(api, version, request)
        answer: Answer = asyncio.get_running_loop().create_future()
        self._waiting.append(_Asked(self._asked, api, version, answer))
        return answer

    def _send(self, api: Api, version: int, request: Message) -> None:
        if self._failure is not None:
            raise self._failure
        self._asked += 1
        header = RequestHeader(api.key, version, self._asked, CLIENT_ID)
        self._writer.writelines(memoryview(part) for part in encode_request(api, header, request))

    async def _wait(self, answer: Answer, kind: type[M]) -> M:
        try:
            async with asyncio.timeout(self._timeout_s):
                message = await answer
        except TimeoutError:
            raise self._fail(Lost(f"{self.address} did not answer within {self._timeout_s:g} s")) from None
        assert isinstance(message, kind)
        return message

    async def _learn_versions(self) -> None:
        asked = self._start(API_VERSIONS, 0, ApiVersionsRequest())
        told = await self._wait(asked, ApiVersionsResponse)
        raise_for(told.error_code, f"{self.address} does not tell its versions")
        self._versions = Versions(told.api_keys)

    async def _read_on(self) -> None:
        try:
            while True:
                await self._read_answer()
        except (OSError, asyncio.IncompleteReadError):
            self._fail(Lost(f"{self.address} closed the connection"))
        except WireError as error:
            self._fail(NotKafka(f"what answers at {self.address} does not speak Kafka: {error}"))
        finally:
            self._writer.close()

    async def _read_answer(self) -> None:
        prefix = await self._reader.readexactly(LENGTH_BYTES)
        frame = await self._reader.readexactly(frame_length(prefix))
        if not self._waiting:
            raise WireError("an answer came that nobody asked for")
        asked = self._waiting[0]
        correlation_id, message = decode_response(asked.api, asked.version, frame)
        if correlation_id != asked.correlation_id:
            raise WireError(f"answer {correlation_id} came where {asked.correlation_id} was expected")
        self._waiting.popleft()
        if not asked.answer.done():
            asked.answer.set_result(message)

    def _fail(self, failure: ClientError) -> ClientError:
        """Break the connection, and tell everybody who waits."""
        if self._failure is None:
            self._failure = failure
        while self._waiting:
            answer = self._waiting.popleft().answer
            if not answer.done():
                answer.set_exception(self._failure)
                answer.exception()  # nobody may be waiting any more; then the error is nobody's
        return self._failure
