"""SCRAM (RFC 5802 and 7677): both sides prove that they know the password, and neither sends it.

    client   n,,n=user,r=C                  C: the client's nonce
    server   r=CS,s=salt,i=iterations       S: the server's nonce
    client   c=biws,r=CS,p=proof            biws: "n,,", there is no channel binding
    server   v=signature

    signed       client-first without header , server-first , client-final without proof
    proof        client key XOR HMAC(stored key, signed)
    signature    HMAC(server key, signed)

The server never learns the password, and the proof is of no use in another exchange because both nonces are
signed. An unknown user is rejected where a wrong proof is. (Kafka rejects it one message earlier.)
"""

import base64
import hmac
import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from dray.sasl.credentials import (
    InvalidCredential,
    ScramCredential,
    ScramMechanism,
    check_credential,
    hashed,
    keyed_hash,
)
from dray.sasl.events import Accepted, Authenticated, Challenge, Credentials, NeedCredentials
from dray.sasl.exchange import Exchange, Refused, Script, answered, check_user
from dray.sasl.scram_messages import ClientFinal, ClientFirst, parse_client_final, parse_client_first
from dray.sasl.unknown_users import UnknownUsers

_NONCE: Final = re.compile(r"[\x21-\x2b\x2d-\x7e]{16,}")


def scram_exchange(
    mechanism: ScramMechanism, server_nonce: str, unknown: UnknownUsers, *, reauthentication: bool = False
) -> Exchange:
    """`server_nonce` must be random and used once (`printable`)."""
    if not _NONCE.fullmatch(server_nonce):
        raise ValueError("a server nonce needs at least 16 printable characters, without commas")
    return Exchange(
        mechanism.value,
        partial(_script, mechanism, server_nonce, unknown),
        reauthentication=reauthentication,
    )


def _script(mechanism: ScramMechanism, server_nonce: str, unknown: UnknownUsers, message: bytes) -> Script:
    first = parse_client_first(message)
    check_user(first.user)
    _check_extensions(first)
    _check_authorization_id(first)
    stored: Credentials = yield NeedCredentials(first.user, (mechanism,))
    answered(stored, Mapping)
    credential = _usable(mechanism, first.user, stored.get(mechanism), unknown)

    nonce = first.nonce + server_nonce
    server_first = f"r={nonce},s={_base64(credential.salt)},i={credential.iterations}"
    message = yield Challenge(server_first.encode())

    final = parse_client_final(message)
    check_binding(first, final)
    check_nonce(nonce, final)
    signed = f"{first.bare},{server_first},{final.signed}".encode()
    if not proof_matches(mechanism, credential, signed, final.proof):
        known = mechanism in stored
        raise Refused(
            f"wrong proof of user {first.user!r}" if known else f"no {mechanism.value} user {first.user!r}"
        )
    signature = keyed_hash(mechanism, credential.server_key, signed)
    return Accepted(
        f"v={_base64(signature)}".encode(), Authenticated(first.user, mechanism.value, expires_at_ms=None)
    )


def check_binding(first: ClientFirst, final: ClientFinal) -> None:
    """The client repeats its header, so that it cannot be changed on the way."""
    if final.binding != _base64(first.header.encode()):
        raise Refused("the channel binding does not repeat the header of the first message")


def check_nonce(nonce: str, final: ClientFinal) -> None:
    """The client repeats both nonces, so its proof is of no use in another exchange."""
    if final.nonce != nonce:
        raise Refused("the nonce is not that of this exchange")


def proof_matches(
    mechanism: ScramMechanism, credential: ScramCredential, signed: bytes, proof: bytes
) -> bool:
    """Return whether the client knows the client key of the credential."""
    if len(proof) != mechanism.key_bytes:
        return False
    signature = keyed_hash(mechanism, credential.stored_key, signed)
    client_key = bytes(left ^ right for left, right in zip(proof, signature, strict=True))
    return hmac.compare_digest(hashed(mechanism, client_key), credential.stored_key)


def _check_extensions(first: ClientFirst) -> None:
    if any(name == "tokenauth" and value.lower() == "true" for name, value in first.extensions):
        raise Refused(
            f"{first.user!r} sent a delegation token",
            "Authentication failed: delegation tokens (tokenauth=true) are not supported",
        )


def _check_authorization_id(first: ClientFirst) -> None:
    if first.authorization_id not in ("", first.user):
        raise Refused(
            f"user {first.user!r} requested authorization id {first.authorization_id!r}",
            "Authentication failed: Client requested an authorization id that is different from username",
        )


def _usable(
    mechanism: ScramMechanism, user: str, stored: ScramCredential | None, unknown: UnknownUsers
) -> ScramCredential:
    """Return the stored credential, or a made-up one if there is none."""
    made_up = unknown.credential(mechanism, user)  # in any case: it takes time
    if stored is None:
        return made_up
    try:
        check_credential(mechanism, stored)
    except InvalidCredential as error:
        raise Refused(f"the {mechanism.value} credential of user {user!r}: {error}") from error
    return stored


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
