"""Client side of PLAIN and SCRAM, written from the RFCs. It shares no code with `dray.sasl`."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from functools import cache

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
HEADER = "n,,"


def plain_message(user: str, password: str, authorization_id: str = "") -> bytes:
    return f"{authorization_id}\0{user}\0{password}".encode()


def escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def bearer_message(token: str, *, authorization_id: str | None = None, extensions: str = "") -> bytes:
    header = HEADER if authorization_id is None else f"n,a={escaped(authorization_id)},"
    return f"{header}\x01auth=Bearer {token}\x01{extensions}\x01".encode()


@dataclass(frozen=True)
class ServerFirst:
    """The challenge of a SCRAM server."""

    nonce: str
    salt: bytes
    iterations: int


def parse_server_first(message: bytes) -> ServerFirst:
    values = dict(part.split("=", 1) for part in message.decode().split(","))
    return ServerFirst(values["r"], base64.b64decode(values["s"]), int(values["i"]))


def hi(hash_name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """Return Hi of RFC 5802, written out."""
    block = hmac.new(password, salt + b"\0\0\0\1", hash_name).digest()
    result = int.from_bytes(block, "big")
    for _ in range(iterations - 1):
        block = hmac.new(password, block, hash_name).digest()
        result ^= int.from_bytes(block, "big")
    return result.to_bytes(len(block), "big")


def respelled(message: bytes) -> bytes:
    """Return a message that ends with the same base64, spelt otherwise: not all bits of it count."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    text = message.rstrip(b"=")
    return text[:-1] + alphabet[alphabet.index(text[-1]) | 1 :][:1] + message[len(text) :]


@cache
def _pbkdf2(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


@dataclass(frozen=True)
class ScramClient:
    """A client that knows a password."""

    mechanism: str
    user: str
    password: str
    nonce: str = "rOprNGfwEbeRWgbNEkqO"
    header: str = HEADER
    extensions: str = ""
    mandatory: str = ""

    @property
    def first_bare(self) -> str:
        return f"{self.mandatory}n={escaped(self.user)},r={self.nonce}{self.extensions}"

    def first(self) -> bytes:
        return (self.header + self.first_bare).encode()

    def final(
        self,
        server_first: bytes,
        *,
        nonce: str | None = None,
        binding: str | None = None,
        extensions: str = "",
    ) -> bytes:
        """Return the last message; the parameters replace what a correct client sends and signs."""
        unsigned = self.final_without_proof(server_first, nonce=nonce, binding=binding) + extensions
        return f"{unsigned},p={base64.b64encode(self.proof(server_first, unsigned)).decode()}".encode()

    def final_without_proof(
        self, server_first: bytes, *, nonce: str | None = None, binding: str | None = None
    ) -> str:
        header = base64.b64encode(self.header.encode()).decode() if binding is None else binding
        return f"c={header},r={parse_server_first(server_first).nonce if nonce is None else nonce}"

    def proof(self, server_first: bytes, final_without_proof: str) -> bytes:
        client_key = self._hmac(self._salted(server_first), b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        signature = self._hmac(stored_key, self._signed(server_first, final_without_proof))
        return bytes(left ^ right for left, right in zip(client_key, signature, strict=True))

    def server_final(self, server_first: bytes) -> bytes:
        """Return what a server that knows the password sends last."""
        server_key = self._hmac(self._salted(server_first), b"Server Key")
        signed = self._signed(server_first, self.final_without_proof(server_first))
        return b"v=" + base64.b64encode(self._hmac(server_key, signed))

    @property
    def _hash(self) -> str:
        return HASHES[self.mechanism]

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()

    def _salted(self, server_first: bytes) -> bytes:
        challenge = parse_server_first(server_first)
        return _pbkdf2(self._hash, self.password, challenge.salt, challenge.iterations)

    def _signed(self, server_first: bytes, final_without_proof: str) -> bytes:
        return b",".join((self.first_bare.encode(), server_first, final_without_proof.encode()))
