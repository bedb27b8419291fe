"""Signing keys of tokens, from a file or an HTTPS endpoint, read again while the broker runs.

Whatever cannot be read or used leaves the last keys in place, so an endpoint that is away for a while stops
no client. Until the first keys are there, every token is refused.

A token that names an unknown key makes the keys be read again before it is refused: its issuer may just have
begun to sign with a new one. Any client can send such tokens, so this happens at most once in ten seconds,
for all of them together.
"""

import asyncio
import json
import ssl
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from typing_extensions import override

from dray.net.sasl_settings import SaslSettings
from dray.observe import get_logger
from dray.runtime import Clock, Threads
from dray.sasl import Claims, InvalidToken
from dray.sasl.tokens import InvalidKeySet, SigningKeys, TokenRules, validate

_log = get_logger("net")
_BYTES_MAX: Final = 1 << 20
_TIMEOUT_S: Final = 10.0
_RETRY_S: Final = 10.0
_FAILURES: Final = (OSError, URLError, HTTPException, ValueError, RecursionError, InvalidKeySet)


def rules_of(settings: SaslSettings) -> TokenRules:
    """Return the rules of the settings; `ValueError` if they are invalid."""
    return TokenRules(
        issuer=settings.oauthbearer_expected_issuer,
        audiences=frozenset(settings.oauthbearer_audiences),
        clock_skew_s=settings.oauthbearer_clock_skew_ms // 1000,
        principal_claim=settings.oauthbearer_sub_claim_name,
        scope_claim=settings.oauthbearer_scope_claim_name,
    )


class TokenKeys:
    """The keys of one source, and the verification of tokens with them."""

    def __init__(self, source: str, rules: TokenRules, threads: Threads, clock: Clock) -> None:
        self._source = source
        self._rules = rules
        self._threads = threads
        self._clock = clock
        self._keys: SigningKeys | None = None
        self._reading = asyncio.Lock()
        self._read_at = -_RETRY_S
        self._is_current = False
        """Whether the last attempt to read them succeeded."""

    async def verify(self, token: str, now_ms: int) -> Claims | InvalidToken:
        """Validate a token as of now."""
        found = self._validated(token, now_ms)
        if isinstance(found, Claims) or not found.key_is_unknown:
            return found
        async with self._reading:
            if self._clock.monotonic() - self._read_at >= _RETRY_S:
                await self._read()
        return self._validated(token, now_ms)

    async def refresh(self) -> None:
        """Read the keys; a failure is logged."""
        async with self._reading:
            await self._read()

    async def keep(self, seconds: float) -> None:
        """Read the keys again and again, more often after a failure."""
        while True:
            await self._clock.sleep(seconds if self._is_current else min(seconds, _RETRY_S))
            await self.refresh()

    def _validated(self, token: str, now_ms: int) -> Claims | InvalidToken:
        if self._keys is None:
            return InvalidToken(f"no signing keys were read from {self._source} yet")
        return validate(token, now_ms, self._keys, self._rules)

    async def _read(self) -> None:
        self._is_current, self._read_at = False, self._clock.monotonic()
        try:
            self._keys = SigningKeys.parse(await self._threads.run(_read, self._source))
        except _FAILURES as error:
            _log.error("signing_keys_unavailable", source=self._source, error=str(error))
        else:
            self._is_current = True


class _HttpsRedirects(HTTPRedirectHandler):
    """Follows redirects to HTTPS only: without TLS, keys could be those of an attacker."""

    @override
    def redirect_request(
        self,
        req: Request,
        fp: Any,
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> Request | None:
        if not newurl.lower().startswith("https://"):
            fp.close()
            raise InvalidKeySet(f"redirected to {newurl}; expected an address with https://")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read(source: str) -> dict[str, Any]:
    if source.startswith("https://"):
        verified = ssl.create_default_context()
        opener = build_opener(HTTPSHandler(context=verified), _HttpsRedirects)
        with opener.open(source, timeout=_TIMEOUT_S) as answer:
            content = answer.read(_BYTES_MAX + 1)
    else:
        content = Path(source.removeprefix("file:")).read_bytes()
    if len(content) > _BYTES_MAX:
        raise InvalidKeySet(f"more than {_BYTES_MAX} bytes; expected a JSON Web Key Set")
    found = json.loads(content)
    if not isinstance(found, dict):
        raise InvalidKeySet("expected a JSON Web Key Set, which is an object")
    return found
