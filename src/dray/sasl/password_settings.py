"""Passwords as Kafka's tools write them: `SCRAM-SHA-256=[iterations=8192,password=…]`.

`kafka-configs --alter --add-config` takes this form. The iterations are optional, and the password extends to
the closing bracket, whatever is in it. Several settings are separated by commas.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from dray.sasl.credentials import ITERATIONS_DEFAULT, InvalidCredential, ScramMechanism, check_iterations

_SETTING: Final = re.compile(
    r"(?P<mechanism>[A-Z0-9-]+)=\[(?:iterations=(?P<iterations>-?[0-9]{1,9}),)?password=(?P<password>[^\]]+)\]"
)


@dataclass(frozen=True, slots=True)
class PasswordSetting:
    """A password for one mechanism, not yet a credential."""

    mechanism: ScramMechanism
    password: str = field(repr=False)
    iterations: int = ITERATIONS_DEFAULT

    def __str__(self) -> str:
        """Return it without the password."""
        return f"{self.mechanism.value}=[iterations={self.iterations},password=[hidden]]"


def parse_password_settings(text: str) -> tuple[PasswordSetting, ...]:
    """Raises `InvalidCredential`, without the password in the message."""
    settings: list[PasswordSetting] = []
    position = 0
    while True:
        found = _SETTING.match(text, position)
        if found is None:
            raise InvalidCredential(
                "expected MECHANISM=[iterations=N,password=…], several separated by commas; "
                f"the fault is at character {position + 1}"
            )
        settings.append(_setting(found))
        position = found.end()
        if position == len(text):
            break
        if text[position] != ",":
            raise InvalidCredential(f"expected a comma after ']' at character {position + 1}")
        position += 1
    if len({setting.mechanism for setting in settings}) < len(settings):
        raise InvalidCredential("a mechanism is named twice; expected each at most once")
    return tuple(settings)


def format_password_settings(settings: Iterable[PasswordSetting]) -> str:
    """Return the text, with passwords, that `parse_password_settings` reads.

    Raises `InvalidCredential` for a password that this form cannot express.
    """
    parts: list[str] = []
    for setting in settings:
        if "]" in setting.password or not setting.password:
            raise InvalidCredential("a password that is empty or has a ']' cannot be written in this form")
        parts.append(
            f"{setting.mechanism.value}=[iterations={setting.iterations},password={setting.password}]"
        )
    return ",".join(parts)


def _setting(found: re.Match[str]) -> PasswordSetting:
    try:
        mechanism = ScramMechanism(found["mechanism"])
    except ValueError:
        names = ", ".join(known.value for known in ScramMechanism)
        raise InvalidCredential(f"unknown mechanism {found['mechanism']}; expected {names}") from None
    iterations = int(found["iterations"] or ITERATIONS_DEFAULT)
    if iterations == -1:  # Kafka's tools write it for the default
        iterations = ITERATIONS_DEFAULT
    check_iterations(iterations)
    return PasswordSetting(mechanism, found["password"], iterations)
