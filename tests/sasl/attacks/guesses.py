"""Attempts to authenticate without a password, as another user, or with a credential that is too weak."""

import hashlib
import hmac
from collections.abc import Callable

from dray.sasl import ScramCredential, ScramMechanism, from_salted_password
from tests.sasl.attacks.attacker import attack, host, is_accepted, plain, scram, with_proof
from tests.sasl.clients import HASHES, ScramClient, plain_message
from tests.sasl.hosts import SHA_256


@attack
def plain_wrong_password() -> bool:
    return plain("alice", "hunter2") or plain("alice", "secre") or plain("alice", "secret\r")


@attack
def plain_unknown_user() -> bool:
    return plain("carol", "carol") or plain("carol", "unknown user") or plain("carol", "carol", "mallory")


@attack
def plain_as_another_user() -> bool:
    return plain("mallory", "hunter2", "alice")


@attack
def plain_fourth_token() -> bool:
    return is_accepted(host().play("PLAIN", b"\0mallory\0hunter2\0alice"))


@attack
def plain_empty_password() -> bool:
    """A credential of the empty password can only come from a client that derived it."""
    salted = hashlib.pbkdf2_hmac("sha256", b"", b"salt", 4096)
    empty = from_salted_password(SHA_256, salted, b"salt", 4096)
    return is_accepted(host({"alice": {SHA_256: empty}}).play("PLAIN", plain_message("alice", "")))


@attack
def plain_bytes_that_are_replaced() -> bool:
    return is_accepted(host().play("PLAIN", b"\0tofu\0\xff"))


@attack
def scram_wrong_password() -> bool:
    return scram("alice", "hunter2") or scram("alice", "Secret")


@attack
def scram_random_proofs() -> bool:
    """Finds a comparison of some bytes only."""

    def random_proof(number: int) -> Callable[[ScramClient, bytes], bytes]:
        return lambda client, challenge: with_proof(
            client, challenge, hashlib.new(HASHES[client.mechanism], b"%d" % number).digest()
        )

    return any(scram("alice", change=random_proof(number)) for number in range(2000))


@attack
def scram_proof_of_another_length() -> bool:
    def proof(size: int) -> Callable[[ScramClient, bytes], bytes]:
        return lambda client, challenge: with_proof(client, challenge, b"x" * size)

    return any(scram("alice", change=proof(size)) for size in (1, 31, 33, 63, 65, 1000))


@attack
def scram_keys_without_a_password() -> bool:
    """An unknown user whose keys come from an empty salted password."""

    def proof(client: ScramClient, challenge: bytes) -> bytes:
        name = HASHES[client.mechanism]
        client_key = hmac.digest(b"", b"Client Key", name)
        signed_parts = ",".join(
            (client.first_bare, challenge.decode(), client.final_without_proof(challenge))
        )
        signature = hmac.digest(hashlib.new(name, client_key).digest(), signed_parts.encode(), name)
        return with_proof(
            client, challenge, bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        )

    return scram("carol", change=proof)


@attack
def scram_as_another_user() -> bool:
    return scram(header="n,a=alice,")


@attack
def scram_delegation_token() -> bool:
    return scram(extensions=",tokenauth=true") or scram(extensions=",a=b,tokenauth=TRUE")


@attack
def scram_few_iterations() -> bool:
    return _with_iterations(1) or _with_iterations(4095)


@attack
def scram_many_iterations() -> bool:
    return _with_iterations(16385)


def _with_iterations(iterations: int) -> bool:
    def weak(mechanism: ScramMechanism) -> ScramCredential:
        salted = hashlib.pbkdf2_hmac(mechanism.hash_name, b"hunter2", b"salt", iterations)
        made = from_salted_password(mechanism, salted, b"salt", 4096)
        return ScramCredential(made.salt, made.stored_key, made.server_key, iterations)

    stored = {"mallory": {mechanism: weak(mechanism) for mechanism in ScramMechanism}}
    return scram(server=host(stored)) or is_accepted(
        host(stored).play("PLAIN", plain_message("mallory", "hunter2"))
    )
