"""SCRAM messages of clients (RFC 5802, section 7), parsed as Kafka parses them.

    client-first   n,[a=authorization id],n=user,r=nonce[,extension=value …]
    client-final   c=channel binding,r=nonce[,extension=value …],p=proof

Only the header `n` exists: a client that wants channel binding (`p=…`), or says that it could (`y`), is
refused. So is a message with a mandatory extension (`m=…`). Parts that are signed are kept as they were
received; base64 must be canonical, so that there is one spelling of each message.

User names may be any UTF-8, as in the RFC; Kafka accepts ASCII only.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from dray.sasl.exchange import Refused

_NAME: Final = r"(?:[^=,\0]|=2C|=3D)+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS: Final = r"(?:,[A-Za-z]+=[^,\0]+)*"
_BASE64: Final = r"[A-Za-z0-9+/]+={0,2}"

_CLIENT_FIRST: Final = re.compile(
    rf"(?P<header>n,(?:a=(?P<authorization_id>{_NAME}))?,)"
    rf"(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<signed>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """The first message of a client."""

    header: str
    bare: str
    """Without the header: the part that is signed."""
    authorization_id: str
    user: str
    nonce: str
    extensions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ClientFinal:
    """The second and last message of a client."""

    signed: str
    """Without the proof."""
    binding: str
    nonce: str
    proof: bytes


def parse_client_first(message: bytes) -> ClientFirst:
    """Raises `Refused`."""
    found = _match(_CLIENT_FIRST, message, "first")
    extensions = found["extensions"].split(",")[1:]
    return ClientFirst(
        header=found["header"],
        bare=found["bare"],
        authorization_id=unescape(found["authorization_id"] or ""),
        user=unescape(found["user"]),
        nonce=found["nonce"],
        extensions=tuple((name, value) for name, _, value in (text.partition("=") for text in extensions)),
    )


def parse_client_final(message: bytes) -> ClientFinal:
    """Raises `Refused`."""
    found = _match(_CLIENT_FINAL, message, "final")
    return ClientFinal(
        signed=found["signed"],
        binding=found["binding"],
        nonce=found["nonce"],
        proof=_decode(found["proof"]),
    )


def unescape(name: str) -> str:
    """Replace =2C by a comma and =3D by an equals sign."""
    return name.replace("=2C", ",").replace("=3D", "=")


def _match(pattern: re.Pattern[str], message: bytes, which: str) -> re.Match[str]:
    try:
        found = pattern.fullmatch(message.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise Refused(f"not a client-{which} message of SCRAM without channel binding")
    return found


def _decode(text: str) -> bytes:
    try:
        decoded = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Refused("the proof is not base64") from None
    if base64.b64encode(decoded).decode() != text:
        raise Refused("the proof is not canonical base64")
    return decoded
