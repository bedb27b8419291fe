"""Credentials: derivation, limits, made-up ones of unknown users, and Kafka's notation of passwords."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.sasl import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    RANDOM_BYTES,
    InvalidCredential,
    PasswordSetting,
    ScramCredential,
    ScramMechanism,
    UnknownUsers,
    check_credential,
    derive,
    format_password_settings,
    from_salted_password,
    mechanism_of,
    parse_password_settings,
    printable,
    verify_password,
)
from tests.sasl.hosts import SHA_256, SHA_512, UNKNOWN, credential

each_mechanism = pytest.mark.parametrize("mechanism", list(ScramMechanism))


@each_mechanism
@pytest.mark.parametrize("iterations", [-1, 0, 1, ITERATIONS_MIN - 1, ITERATIONS_MAX + 1, 1 << 31])
def test_iterations_outside_the_limits_are_refused(mechanism: ScramMechanism, iterations: int) -> None:
    with pytest.raises(InvalidCredential, match=r"^Too (few|many) iterations"):
        derive(mechanism, "secret", b"salt", iterations)
    with pytest.raises(InvalidCredential, match=r"^Too (few|many) iterations"):
        from_salted_password(mechanism, b"salted", b"salt", iterations)


@each_mechanism
def test_limits_themselves_are_allowed(mechanism: ScramMechanism) -> None:
    for iterations in (ITERATIONS_MIN, ITERATIONS_MAX):
        found = derive(mechanism, "secret", b"salt", iterations)
        check_credential(mechanism, found)
        assert verify_password(mechanism, "secret", found)


@pytest.mark.parametrize(("password", "salt"), [("", b"salt"), ("secret", b""), ("\ud800", b"salt")])
def test_password_or_salt_that_cannot_be_used_is_refused(password: str, salt: bytes) -> None:
    with pytest.raises(InvalidCredential):
        derive(SHA_256, password, salt, ITERATIONS_MIN)


def test_keys_of_another_mechanism_are_refused() -> None:
    with pytest.raises(InvalidCredential, match="32 bytes; SCRAM-SHA-512 uses 64"):
        check_credential(SHA_512, credential(SHA_256, "secret"))
    good = credential(SHA_256, "secret")
    with pytest.raises(InvalidCredential, match="server key has 0 bytes"):
        check_credential(SHA_256, ScramCredential(good.salt, good.stored_key, b"", good.iterations))


def test_mechanisms_have_the_codes_of_kafka() -> None:
    assert [mechanism_of(code) for code in range(4)] == [None, SHA_256, SHA_512, None]
    assert [mechanism.code for mechanism in ScramMechanism] == [1, 2]


@given(st.binary(min_size=RANDOM_BYTES, max_size=32))
def test_printable_text_has_the_form_of_kafkas(random: bytes) -> None:
    text = printable(random)
    assert re.fullmatch("[0-9a-z]{1,26}", text)
    assert int(text, 36) == int.from_bytes(random[:17], "big") % 2**130


def test_printable_text_needs_enough_randomness() -> None:
    with pytest.raises(ValueError, match="expected at least 17"):
        printable(b"x" * 16)


@each_mechanism
@given(user=st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_made_up_credential_is_like_a_real_one(mechanism: ScramMechanism, user: str) -> None:
    made_up = UNKNOWN.credential(mechanism, user)
    check_credential(mechanism, made_up)
    assert made_up == UNKNOWN.credential(mechanism, user)
    assert re.fullmatch(rb"[0-9a-z]{20,26}", made_up.salt)
    assert made_up.stored_key != made_up.server_key
    assert made_up != UNKNOWN.credential(mechanism, f"{user}x")


def test_unknown_users_need_a_secret_and_usable_iterations() -> None:
    with pytest.raises(ValueError, match="a secret of 5 bytes"):
        UnknownUsers(b"short")
    with pytest.raises(InvalidCredential, match="Too few iterations"):
        UnknownUsers(b"x" * 32, iterations=1)
    assert UnknownUsers(b"x" * 32, iterations=8192).credential(SHA_256, "a").iterations == 8192


def test_password_settings_in_kafkas_notation() -> None:
    text = "SCRAM-SHA-256=[iterations=8192,password=alice-secret],SCRAM-SHA-512=[password=a=b,c[d]"
    settings = parse_password_settings(text)
    assert settings == (
        PasswordSetting(SHA_256, "alice-secret", 8192),
        PasswordSetting(SHA_512, "a=b,c[d", 4096),
    )
    assert str(settings[0]) == "SCRAM-SHA-256=[iterations=8192,password=[hidden]]"
    assert "alice-secret" not in repr(settings)
    assert parse_password_settings("SCRAM-SHA-256=[iterations=-1,password=x]")[0].iterations == 4096


@pytest.mark.parametrize(
    "text",
    [
        "",
        "alice",
        "SCRAM-SHA-256",
        "SCRAM-SHA-256=",
        "SCRAM-SHA-256=[]",
        "SCRAM-SHA-256=[password=]",
        "SCRAM-SHA-256=[iterations=8192]",
        "SCRAM-SHA-256=[password=hunter2",
        "SCRAM-SHA-256=password=hunter2",
        "SCRAM-SHA-256=[iterations=,password=hunter2]",
        "SCRAM-SHA-256=[iterations=4095,password=hunter2]",
        "SCRAM-SHA-256=[iterations=99999999999,password=hunter2]",
        "SCRAM-SHA-1=[password=hunter2]",
        "SCRAM-SHA-256=[password=hunter2],",
        "SCRAM-SHA-256=[password=hunter2] ",
        "SCRAM-SHA-256=[password=hunter2],SCRAM-SHA-256=[password=other]",
    ],
)
def test_malformed_password_setting_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(InvalidCredential) as refused:
        parse_password_settings(text)
    assert "hunter2" not in str(refused.value)


passwords = st.text(st.characters(exclude_characters="]"), min_size=1, max_size=20)
setting_lists = st.lists(
    st.builds(
        PasswordSetting,
        st.sampled_from(ScramMechanism),
        passwords,
        st.integers(ITERATIONS_MIN, ITERATIONS_MAX),
    ),
    min_size=1,
    unique_by=lambda setting: setting.mechanism,
)


@given(setting_lists)
def test_formatted_settings_are_parsed_back(settings: list[PasswordSetting]) -> None:
    assert parse_password_settings(format_password_settings(settings)) == tuple(settings)


@pytest.mark.parametrize("password", ["", "a]b"])
def test_password_that_the_notation_cannot_express_is_not_formatted(password: str) -> None:
    with pytest.raises(InvalidCredential, match="cannot be written"):
        format_password_settings([PasswordSetting(SHA_256, password)])
