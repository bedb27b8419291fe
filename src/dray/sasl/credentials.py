"""SCRAM credentials: what is stored of a password, how it is derived and verified.

A password itself is never stored. RFC 5802 derives from it

    salted password = PBKDF2(password, salt, iterations)
    client key      = HMAC(salted password, "Client Key")
    stored key      = H(client key)                         verifies a client
    server key      = HMAC(salted password, "Server Key")   proves the server to the client

Passwords are hashed as their UTF-8 bytes, without the normalization (SASLprep) that the RFC demands: neither
Kafka's tools nor Kafka's clients normalize, so a credential that they made could not be used otherwise.

Salts come from the caller; `printable` makes one that looks like those of Kafka's tools.
"""

import hashlib
import hmac
from enum import Enum
from typing import Final

import msgspec

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384
ITERATIONS_DEFAULT: Final = 4096
RANDOM_BYTES: Final = 17
"""How many random bytes `printable` takes."""

_RANDOM_BITS: Final = 130  # as Kafka's salts and nonces
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class ScramMechanism(Enum):
    """A SCRAM mechanism, by its SASL name."""

    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"

    @property
    def code(self) -> int:
        """The number in DescribeUserScramCredentials and AlterUserScramCredentials."""
        return _CODES[self]

    @property
    def hash_name(self) -> str:
        """The hash function, as `hashlib` and `hmac` name it."""
        return _HASHES[self]

    @property
    def key_bytes(self) -> int:
        """The length of stored key, server key and proof."""
        return hashlib.new(self.hash_name).digest_size


_CODES: Final = {ScramMechanism.SHA_256: 1, ScramMechanism.SHA_512: 2}
_HASHES: Final = {ScramMechanism.SHA_256: "sha256", ScramMechanism.SHA_512: "sha512"}


class InvalidCredential(Exception):
    """A password or credential that cannot be stored or used; fix the request."""


class ScramCredential(msgspec.Struct, frozen=True, array_like=True, tag="s1"):
    """A user's credential for one mechanism. With its `server_key` a process can pose as a broker."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"  # never keys in a log


def mechanism_of(code: int) -> ScramMechanism | None:
    """Return the mechanism that the Kafka APIs call `code`."""
    return next((mechanism for mechanism, number in _CODES.items() if number == code), None)


def derive(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> ScramCredential:
    """Derive the credential of a password; takes milliseconds of processor time.

    Raises `InvalidCredential`.
    """
    if not password:
        raise InvalidCredential("the password is empty; expected at least one character")
    check_iterations(iterations)
    return from_salted_password(
        mechanism, _salted(mechanism, _utf8(password), salt, iterations), salt, iterations
    )


def from_salted_password(
    mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """Derive the credential from the salted password that AlterUserScramCredentials carries.

    Raises `InvalidCredential`.
    """
    client_key = keyed_hash(mechanism, salted_password, b"Client Key")
    credential = ScramCredential(
        salt=salt,
        stored_key=hashed(mechanism, client_key),
        server_key=keyed_hash(mechanism, salted_password, b"Server Key"),
        iterations=iterations,
    )
    check_credential(mechanism, credential)
    return credential


def check_iterations(iterations: int) -> None:
    """Raises `InvalidCredential`, with Kafka's message first."""
    if iterations < ITERATIONS_MIN:
        raise InvalidCredential(f"Too few iterations: {iterations}; at least {ITERATIONS_MIN} are required")
    if iterations > ITERATIONS_MAX:
        raise InvalidCredential(f"Too many iterations: {iterations}; at most {ITERATIONS_MAX} are allowed")


def check_credential(mechanism: ScramMechanism, credential: ScramCredential) -> None:
    """Check a credential before it is stored or used.

    Raises `InvalidCredential`.
    """
    check_iterations(credential.iterations)
    if not credential.salt:
        raise InvalidCredential("the salt is empty; expected at least one byte")
    for name, key in (("stored key", credential.stored_key), ("server key", credential.server_key)):
        if len(key) != mechanism.key_bytes:
            raise InvalidCredential(
                f"the {name} has {len(key)} bytes; {mechanism.value} uses {mechanism.key_bytes}"
            )


def verify_password(mechanism: ScramMechanism, password: str, credential: ScramCredential) -> bool:
    """Return whether this is the password of the credential; takes milliseconds of processor time."""
    salted = _salted(mechanism, _utf8(password), credential.salt, credential.iterations)
    stored_key = hashed(mechanism, keyed_hash(mechanism, salted, b"Client Key"))
    return hmac.compare_digest(stored_key, credential.stored_key)


def keyed_hash(mechanism: ScramMechanism, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, mechanism.hash_name)


def hashed(mechanism: ScramMechanism, message: bytes) -> bytes:
    return hashlib.new(mechanism.hash_name, message).digest()


def printable(random: bytes) -> str:
    """Return 130 of the bits in base 36, the form of Kafka's nonces and salts."""
    if len(random) < RANDOM_BYTES:
        raise ValueError(f"{len(random)} random bytes; expected at least {RANDOM_BYTES}")
    number = int.from_bytes(random[:RANDOM_BYTES], "big") & ((1 << _RANDOM_BITS) - 1)
    digits = ""
    while number or not digits:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def _salted(mechanism: ScramMechanism, password: bytes, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password, salt, iterations)


def _utf8(password: str) -> bytes:
    try:
        return password.encode()
    except UnicodeEncodeError as error:
        raise InvalidCredential("the password is not valid Unicode: it has a lone surrogate") from error
