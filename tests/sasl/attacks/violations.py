"""Messages that break a rule of the protocol."""

from functools import partial

from dray.sasl import MESSAGE_BYTES_MAX, USER_BYTES_MAX, ExchangeMisused, Rejected
from tests.sasl.attacks.attacker import SCRAM, attack, host, is_accepted, scram
from tests.sasl.clients import ScramClient, bearer_message, parse_server_first, plain_message, respelled
from tests.sasl.signing import claims, signed


@attack
def scram_own_nonce_only() -> bool:
    return scram(change=lambda client, challenge: client.final(challenge, nonce=client.nonce))


@attack
def scram_characters_before_the_nonce() -> bool:
    return scram(
        change=lambda client, challenge: client.final(
            challenge, nonce="x" + parse_server_first(challenge).nonce
        )
    )


@attack
def scram_characters_after_the_nonce() -> bool:
    return scram(
        change=lambda client, challenge: client.final(
            challenge, nonce=parse_server_first(challenge).nonce + "x"
        )
    )


@attack
def scram_replayed_last_message() -> bool:
    """Alice's messages, recorded, are sent again in another exchange."""
    for mechanism in SCRAM:
        client = ScramClient(mechanism, "alice", "secret")
        recorded = client.final(host().challenge(mechanism, client.first()))
        later = host(server_nonce="the-nonce-of-another-exchange")
        if is_accepted(later.play(mechanism, client.first(), recorded)):
            return True
    return False


@attack
def scram_other_channel_binding() -> bool:
    return any(
        scram(change=partial(ScramClient.final, binding=binding))
        for binding in ("eSws", "cD10bHMtdW5pcXVlLCw=", "biw=", "bixhPW1hbGxvcnks")
    )


@attack
def scram_header_with_channel_binding() -> bool:
    return scram(header="y,,") or scram(header="p=tls-unique,,")


@attack
def scram_mandatory_extension() -> bool:
    for mechanism in SCRAM:
        server = host()
        if not isinstance(server.play(mechanism, b"n,,m=must,n=mallory,r=abcdef")[0], Rejected):
            return True
    return False


@attack
def scram_bytes_after_the_message() -> bool:
    return scram(change=lambda client, challenge: client.final(challenge) + b" x")


@attack
def scram_other_spelling_of_the_proof() -> bool:
    """The last character before the padding has bits that do not count."""
    return scram(change=lambda client, challenge: respelled(client.final(challenge)))


@attack
def giant_message() -> bool:
    return scram(extensions=f",x={'y' * MESSAGE_BYTES_MAX}")


@attack
def lookup_of_a_name_that_is_too_long() -> bool:
    server = host()
    for mechanism in SCRAM:
        server.play(mechanism, ScramClient(mechanism, "a" * (USER_BYTES_MAX + 1), "x").first())
    server.play("PLAIN", plain_message("a" * (USER_BYTES_MAX + 1), "x"))
    return bool(server.asked)


@attack
def second_attempt_in_one_exchange() -> bool:
    exchange = host().open("PLAIN")
    host().send(exchange, plain_message("alice", "wrong"))
    try:
        exchange.receive(plain_message("mallory", "hunter2"))
    except ExchangeMisused:
        return False
    return True


@attack
def bearer_as_another_user() -> bool:
    message = bearer_message(signed(claims(sub="mallory")), authorization_id="alice")
    return is_accepted(host().play("OAUTHBEARER", message))


@attack
def bearer_two_tokens() -> bool:
    message = bearer_message(signed(), extensions="auth=Bearer other\x01")
    return is_accepted(host().play("OAUTHBEARER", message))


@attack
def bearer_of_another_scheme() -> bool:
    message = bearer_message(signed()).replace(b"Bearer", b"Basic")
    return is_accepted(host().play("OAUTHBEARER", message))


@attack
def bearer_valid_token_after_an_invalid_one() -> bool:
    return is_accepted(host().play("OAUTHBEARER", bearer_message("a.b.c"), bearer_message(signed())))


@attack
def bearer_with_channel_binding() -> bool:
    message = bearer_message(signed()).replace(b"n,,", b"y,,")
    return is_accepted(host().play("OAUTHBEARER", message))
