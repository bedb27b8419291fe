"""Principals of certificates beside Kafka's own classes: names of subjects, and mapping rules."""

import base64
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from cryptography.x509 import Name, NameAttribute, ObjectIdentifier, RelativeDistinguishedName
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID as N

from dray.net.principal_rules import PrincipalRules, UnmappedSubject
from dray.net.subjects import subject_name
from tests.clients.registry import java_classes
from tests.net.authority import Authority
from tests.oracle import jars

pytestmark = pytest.mark.real("java")


def attribute(oid: ObjectIdentifier, value: str, kind: _ASN1Type | None = None) -> NameAttribute[str]:
    return NameAttribute(oid, value, kind, _validate=False)


def name(*pairs: tuple[ObjectIdentifier, str]) -> Name:
    return Name([attribute(oid, value) for oid, value in pairs])


CN, C, O, OU = N.COMMON_NAME, N.COUNTRY_NAME, N.ORGANIZATION_NAME, N.ORGANIZATIONAL_UNIT_NAME  # noqa: E741
SUBJECTS = {
    "plain": name((C, "DE"), (N.STATE_OR_PROVINCE_NAME, "BW"), (O, "Example"), (OU, "orders"), (CN, "alice")),
    "keywords": name(
        (N.LOCALITY_NAME, "l"),
        (N.STREET_ADDRESS, "s"),
        (N.DOMAIN_COMPONENT, "example"),
        (N.DOMAIN_COMPONENT, "com"),
        (N.USER_ID, "u1"),
        (CN, "x"),
    ),
    "e-mail": name((CN, "alice"), (N.EMAIL_ADDRESS, "alice@example.com")),
    "serial and title": name((N.SERIAL_NUMBER, "42"), (N.TITLE, "Dr"), (N.GIVEN_NAME, "A"), (CN, "b")),
    "unknown attribute": name((ObjectIdentifier("1.3.6.1.4.1.99999.7"), "value"), (CN, "x")),
    "escapes": name((CN, 'a,b+c"d\\e<f>g;h=i#j/k')),
    "hash first": name((CN, "#hash"), (O, "not #first")),
    "blanks": name((CN, "  two before and one after ")),
    "only blanks": name((CN, "   "), (O, "x")),
    "umlauts": name((CN, "Jürgen Müller"), (O, "日本 🚀")),
    "several in one part": Name(
        [
            RelativeDistinguishedName([attribute(O, "Example")]),
            RelativeDistinguishedName(
                [attribute(CN, "alice"), attribute(N.USER_ID, "u1"), attribute(OU, "z")]
            ),
        ]
    ),
    "same twice": name((OU, "a"), (OU, "b"), (CN, "x")),
    "types of strings": Name(
        [
            attribute(CN, "printable", _ASN1Type.PrintableString),
            attribute(O, "ia5", _ASN1Type.IA5String),
            attribute(OU, "utf8", _ASN1Type.UTF8String),
            attribute(N.LOCALITY_NAME, "bmp", _ASN1Type.BMPString),
            attribute(N.STATE_OR_PROVINCE_NAME, "t61", _ASN1Type.T61String),
        ]
    ),
    "control characters": name((CN, "a\tb\nc\rd")),
}
RULES = [
    "DEFAULT",
    "",
    r"RULE:^CN=(.*?),OU=orders.*$/$1/",
    r"RULE:^CN=(.*?),OU=(.*?),O=(.*?),ST=(.*?),C=(.*?)$/$1@$5/U, DEFAULT",
    r"RULE:^CN=(.*?),.*$/$1-$2-\$1-x\/y/L,DEFAULT",
    r"RULE:^nothing$/x/,RULE:.*/all/",
    r"RULE:^CN=([^,]+).*$/$1/L",
    r"RULE:CN=alice/x/",
    r"DEFAULT , RULE:^CN=(.*)$/$1/",
    r"RULE:^CN=(\w+)\,OU=(\w+).*$/$2\\$1/U",
]
INVALID = ["RULE:a", "RULE:a/b", "RULE:a/b/X", "default", "RULE:^CN=(.*)$/$1/L RULE:x/y/", "x,DEFAULT"]


@cache
def kafkas(requests: tuple[tuple[bytes, str], ...]) -> list[str]:
    """Return what Kafka makes of certificates and rules."""
    lines = "".join(f"{base64.b64encode(der).decode()}\t{rules}\n" for der, rules in requests)
    command = jars.java("Principals", extra=str(java_classes()))
    ran = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=60, check=True)
    return ran.stdout.decode().removesuffix("\n").split("\n")


def ours(der: bytes, rules: str) -> str:
    try:
        mapper = PrincipalRules(rules)
    except ValueError:
        return "!invalid"
    try:
        return mapper.name_of(subject_name(der))
    except UnmappedSubject:
        return "!none"


def certificates(folder: Path, subjects: Sequence[str]) -> list[bytes]:
    authority = Authority(folder)
    return [authority.issue("x", subject=SUBJECTS[subject]).der for subject in subjects]


def test_subjects_are_named_as_in_kafka(tmp_path: Path) -> None:
    subjects = [subject for subject in SUBJECTS if subject != "control characters"]
    made = certificates(tmp_path, subjects)
    expected = kafkas(tuple((der, "DEFAULT") for der in made))
    assert dict(zip(subjects, [subject_name(der) for der in made], strict=True)) == dict(
        zip(subjects, expected, strict=True)
    )


def test_control_characters_are_kept_as_in_kafka(tmp_path: Path) -> None:
    (der,) = certificates(tmp_path, ["control characters"])
    assert "\n".join(kafkas(((der, "DEFAULT"),))) == subject_name(der)


def test_rules_map_as_in_kafka(tmp_path: Path) -> None:
    made = certificates(tmp_path, ["plain", "e-mail", "same twice"])
    requests = tuple((der, rules) for rules in [*RULES, *INVALID] for der in made)
    found = [ours(*request) for request in requests]
    shown = [(rules, subject_name(der)) for der, rules in requests]
    expected = kafkas(requests)
    assert dict(zip(shown, found, strict=True)) == dict(zip(shown, expected, strict=True))
    assert len(set(expected)) > len(RULES) // 2, "the rules differ in what they do"
