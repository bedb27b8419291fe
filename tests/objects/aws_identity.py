"""A stand-in for AWS: instance metadata (IMDSv2), container credentials, STS, and an S3 that keeps requests.

Every request for credentials gets new ones, numbered from 1, which expire after `lifetime_s`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ssl import SSLContext
from typing import Final
from urllib.parse import parse_qs, urlsplit

from tests.objects.scripted_http import STORED, Reply, Request, read_request

ROLE: Final = "/latest/meta-data/iam/security-credentials/"
TOKEN: Final = "/latest/api/token"
CONTAINER: Final = "/v2/credentials"


class AwsServer:
    """All services at one address; paths and parameters distinguish them."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.lifetime_s = 3600
        self.issued = 0
        self.asked: list[Request] = []
        """Requests for credentials."""
        self.stored: list[Request] = []
        """Requests to S3."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await read_request(reader)
            writer.write((reply := self._reply(request)).head() + reply.body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def _reply(self, request: Request) -> Reply:
        path = urlsplit(request.target).path
        if path == TOKEN:
            return Reply(body=b"session-of-the-instance")
        if path.startswith((ROLE, CONTAINER)) or b"AssumeRoleWithWebIdentity" in _sent(request):
            self.asked.append(request)
            return self._credentials(path)
        self.stored.append(request)
        return STORED

    def _credentials(self, path: str) -> Reply:
        if path == ROLE:
            return Reply(body=b"broker")
        if path == f"{ROLE}broker" and self.asked[-1].headers.get("x-aws-ec2-metadata-token") is None:
            return Reply(401)
        self.issued += 1
        end = (datetime.now(UTC) + timedelta(seconds=self.lifetime_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
        key, secret, token = (f"{name}-{self.issued}" for name in ("KEY", "secret", "token"))
        if path.startswith((ROLE, CONTAINER)):
            found = {"AccessKeyId": key, "SecretAccessKey": secret, "Token": token, "Expiration": end}
            return Reply(body=json.dumps({"Code": "Success", "Type": "AWS-HMAC", **found}).encode())
        return Reply(
            body=f"""<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
            <AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>
            <SessionToken>{token}</SessionToken><Expiration>{end}</Expiration>
            </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>""".encode()
        )

    def signed_by(self) -> list[tuple[str, str | None]]:
        """Return access key and session token of every request to S3."""
        return [
            (
                one.headers["authorization"].partition("Credential=")[2].partition("/")[0],
                one.headers.get("x-amz-security-token"),
            )
            for one in self.stored
        ]


def _sent(request: Request) -> bytes:
    """Return the parameters of a request, which are in its body or in its target."""
    return request.body + request.target.encode()


def parameter(request: Request, name: str) -> str:
    """Return a parameter of a request to STS."""
    text = request.body.decode() or urlsplit(request.target).query
    return parse_qs(text)[name][0]


@asynccontextmanager
async def serve_aws(tls: SSLContext | None = None) -> AsyncIterator[AwsServer]:
    aws = AwsServer()
    server = await asyncio.start_server(aws.answer, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    aws.endpoint = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield aws
