"""A proxy in front of a REST catalog that demands authorization: OAuth2 tokens, or signatures of AWS."""

import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

_SIGNATURE: Final = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>\w+)/\d{8}/(?P<region>[\w-]+)/(?P<service>\w+)/aws4_request, "
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})"
)
Headers: TypeAlias = "Message[str, str]"
_KEPT: Final = ("Content-Type", "Accept", "X-Client-Version")


class Guard:
    """What is demanded, and what was asked for."""

    def __init__(self, backend: str) -> None:
        self.backend = urlsplit(backend)
        self.uri = ""
        self.client = ("dray", "the-client-secret")
        self.tokens: set[str] = set()
        """Those that are accepted."""
        self.keys: dict[str, str] = {}
        """Access keys and secrets whose signatures are accepted; if there are any, no token is."""
        self.grants: list[dict[str, str]] = []
        """Requests for tokens."""
        self.grant_paths: list[str] = []
        self.forwarded: list[Headers] = []
        """The headers of requests that reached the catalog."""
        self.regions: set[tuple[str, str]] = set()

    def grant(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Answer a request for a token."""
        asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        self.grants.append(asked)
        client = (asked.get("client_id"), asked.get("client_secret"))
        if asked.get("grant_type") != "client_credentials" or client != self.client:
            return 401, {"error": "invalid_client", "error_description": "unknown client"}
        self.tokens.add(token := f"token-{len(self.grants)}")
        return 200, {"access_token": token, "token_type": "bearer", "expires_in": 3600}

    def admits(self, method: str, url: str, headers: Headers, body: bytes) -> bool:
        given = headers.get("Authorization", "")
        if self.keys:
            return self._is_signed(given, AWSRequest(method, url, dict(headers), body))
        return given.removeprefix("Bearer ") in self.tokens

    def _is_signed(self, given: str, request: AWSRequest) -> bool:
        found = _SIGNATURE.fullmatch(given)
        if found is None or found["key"] not in self.keys:
            return False
        self.regions.add((found["region"], found["service"]))
        signed = {name: value for name, value in request.headers.items() if name.lower() in _names(found)}
        checked = AWSRequest(request.method, request.url, signed, request.data)
        checked.context["timestamp"] = signed["X-Amz-Date"]
        auth = SigV4Auth(
            Credentials(found["key"], self.keys[found["key"]]), found["service"], found["region"]
        )
        expected = auth.signature(auth.string_to_sign(checked, auth.canonical_request(checked)), checked)
        return bool(expected == found["signature"])


def _names(found: "re.Match[str]") -> list[str]:
    return found["headers"].split(";")


@contextmanager
def guarded(backend: str, tls: ssl.SSLContext | None = None) -> Iterator[Guard]:
    guard = Guard(backend)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if self.path.endswith(("/oauth/tokens", "/elsewhere/token")):
                guard.grant_paths.append(self.path)
                status, answer = guard.grant(body)
                self._send(status, json.dumps(answer).encode())
            elif guard.admits(self.command, f"{guard.uri}{self.path}", self.headers, body):
                guard.forwarded.append(self.headers)
                self._forward(body)
            else:
                error = {"message": "who are you?", "type": "NotAuthorizedException", "code": 401}
                self._send(401, json.dumps({"error": error}).encode())

        do_GET = do_POST = do_DELETE = do_HEAD = _answer  # noqa: N815 - names of http.server

        def _forward(self, body: bytes) -> None:
            connection = HTTPConnection(guard.backend.netloc, timeout=30)
            headers = {name: self.headers[name] for name in _KEPT if name in self.headers}
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            self._send(response.status, response.read())
            connection.close()

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    guard.uri = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield guard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
