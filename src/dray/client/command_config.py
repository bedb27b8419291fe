"""Properties files of Kafka's tools (`--command-config`), translated to librdkafka's configuration.

The keys are those of Java's client. Most are the same in librdkafka; keystores in PEM, the login module and
host name verification are not. A key that means nothing to librdkafka either is an error when the client is
made, so that a setting is never ignored silently, except for those that only choose Java's implementation.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

_CONTINUED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_PAIR: Final = re.compile(r"((?:\\.|[^\\\s=:])+)(?:\s*[=:]\s*|\s+|$)(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LOGIN: Final = re.compile(
    r'\s*([\w.]+)\s+(?:required|requisite|sufficient|optional)((?:\s+\w+\s*=\s*(?:"(?:\\.|[^"\\])*"|[^\s";]+))*)\s*;\s*'
)
_OPTION: Final = re.compile(r'(\w+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s";]+))')
_LOGIN_MODULES: Final = ("PlainLoginModule", "ScramLoginModule")
_IMPLEMENTATION: Final = frozenset(
    {
        "ssl.protocol",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "ssl.keystore.type",
    }
)
_SAME_VALUE: Final = {
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_OURS: Final = {"bootstrap.servers": "--bootstrap", "request.timeout.ms": "--timeout"}


class InvalidCommandConfig(ValueError):
    """The file cannot be used; the message names the key."""


def parse_command_config(text: str) -> dict[str, str]:
    """Return the properties of librdkafka; raises `InvalidCommandConfig`."""
    given = dict(_pairs(text))
    found: dict[str, str] = {}
    for key, value in given.items():
        if key in _OURS:
            raise InvalidCommandConfig(f"{key} is not read from the file; use {_OURS[key]}")
        if key not in _IMPLEMENTATION:
            found |= _translated(key, value, given)
    return found


def _translated(key: str, value: str, given: Mapping[str, str]) -> dict[str, str]:
    if key == "sasl.jaas.config":
        return _login(value)
    if key == "ssl.truststore.location":
        _check_type(given, "ssl.truststore.type", {"PEM"})
        return {"ssl.ca.location": value}
    if key == "ssl.keystore.location":
        if _check_type(given, "ssl.keystore.type", {"PEM", "PKCS12"}) == "PKCS12":
            return {key: value}
        return {"ssl.certificate.location": value, "ssl.key.location": value}
    if key == "ssl.endpoint.identification.algorithm":
        return {key: value or "none"}
    return {_SAME_VALUE.get(key, key): value.upper() if key == "security.protocol" else value}


def _check_type(given: Mapping[str, str], key: str, readable: set[str]) -> str:
    """Return the type of a store; Java's default is JKS, which librdkafka does not read."""
    kind = given.get(key, "JKS").upper()
    if kind not in readable:
        raise InvalidCommandConfig(
            f"{key}={kind} cannot be read; convert the store, and set {key}={' or '.join(sorted(readable))}"
        )
    return kind


def _login(text: str) -> dict[str, str]:
    """Return user and password of a login module."""
    found = _LOGIN.fullmatch(text)
    module = "" if found is None else found[1].rpartition(".")[2]
    if found is None or module not in _LOGIN_MODULES:
        raise InvalidCommandConfig(
            "sasl.jaas.config: expected org.apache.kafka.common.security.plain.PlainLoginModule or "
            "org.apache.kafka.common.security.scram.ScramLoginModule, then "
            'required username="…" password="…";'
        )
    options = {one[1]: _unescaped(one[2]) if one[3] is None else one[3] for one in _OPTION.finditer(found[2])}
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise InvalidCommandConfig(f"sasl.jaas.config has no {missing[0]}")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield keys and values as `java.util.Properties` reads them."""
    logical = ""
    for line in [*text.splitlines(), ""]:
        line = line.lstrip()  # noqa: PLW2901 - blanks before a key or a continuation have no meaning
        if not logical and line.startswith(("#", "!")):
            continue
        if _CONTINUED.search(line):
            logical += line[:-1]
            continue
        logical += line
        found = _PAIR.fullmatch(logical)
        if found is not None:
            yield _unescaped(found[1]), _unescaped(found[2])
        logical = ""


def _unescaped(text: str) -> str:
    def value(found: re.Match[str]) -> str:
        escaped = found[1]
        return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _ESCAPED.get(escaped, escaped)

    return _ESCAPE.sub(value, text)
