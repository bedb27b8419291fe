"""Signing keys from an endpoint: what makes it unavailable, and that keys never come without TLS."""

import asyncio
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from dray.net.signing_keys import TokenKeys
from dray.runtime import SystemClock, Threads
from dray.sasl import InvalidToken
from dray.sasl.tokens import TokenRules
from tests.net.authority import Authority

EC_KEY = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
KEYS = json.dumps({"keys": [EC_KEY]}).encode()


@contextmanager
def serving(
    answer: Callable[[BaseHTTPRequestHandler], object], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve on loopback; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}/keys"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Return the TLS of an endpoint that this process trusts."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    issued = authority.issue("keys")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    return context


def reason_after_reading(source: str) -> str:
    """Read the keys; returns why a token that nothing signed is invalid."""

    async def main() -> str:
        threads = Threads("keys", 1)
        keys = TokenKeys(source, TokenRules(), threads, SystemClock())
        await keys.refresh()
        await threads.stop()
        verified = await keys.verify("not a token", 0)
        assert isinstance(verified, InvalidToken)
        return verified.reason

    return asyncio.run(main())


def page(body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        request.wfile.write(body)

    return answer


def redirect(target: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", target)
        request.end_headers()

    return answer


def test_keys_are_read_over_https_also_after_a_redirect(tls: ssl.SSLContext) -> None:
    with serving(page(KEYS), tls) as keys, serving(redirect(keys), tls) as source:
        assert "no signing keys" not in reason_after_reading(source)


def test_a_redirect_to_plain_http_is_not_followed(tls: ssl.SSLContext) -> None:
    with serving(page(KEYS)) as keys, serving(redirect(keys), tls) as source:
        assert "no signing keys" in reason_after_reading(source)


@pytest.mark.parametrize("body", [b"[" * 200_000, b"{}", b"[]", b"\xff", b" " * (2 << 20)])
def test_an_answer_without_a_key_set_is_only_logged(tls: ssl.SSLContext, body: bytes) -> None:
    with serving(page(body), tls) as source:
        assert "no signing keys" in reason_after_reading(source)


def test_an_answer_that_is_not_http_is_only_logged(tls: ssl.SSLContext) -> None:
    with serving(lambda request: request.wfile.write(b"SSH-2.0\r\n"), tls) as source:
        assert "no signing keys" in reason_after_reading(source)
