"""Reads settings from the environment and from flags.

A setting's variable is `DRAY_<SECTION>_<KEY>`. Any other `DRAY_*` variable is an error, because it is most
often a misspelt one; the exceptions are `OTHER_VARIABLES`, `DRAY_TEST_*`, and what Kubernetes sets in every
container beside a Service whose name begins with "dray".
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from dray.cli.settings.given import Given, Reading, unknown_key, value_shown
from dray.cli.settings.problems import Origin, Problem, did_you_mean, quoted
from dray.cli.settings.schema import Field, Schema

OTHER_VARIABLES: Final[Mapping[str, str]] = {
    "DRAY_BOOTSTRAP": "The broker that commands talk to, when `--bootstrap` is not given.",
    "DRAY_CONFIG": "The settings file, when `--config` is not given.",
    "DRAY_DEBUG": "Set to 1: a failing command shows its traceback.",
}

_ALLOWED: Final = "a variable is called DRAY_SECTION_KEY and `dray config show` lists them"
_PREFIX: Final = "DRAY_"
_TEST_PREFIX: Final = "DRAY_TEST_"
_KUBERNETES_NAME: Final = re.compile(
    r"DRAY_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)", re.ASCII
)
_KUBERNETES_PORT: Final = re.compile(r"(tcp|udp|sctp)://.*")


def read_environment(environ: Mapping[str, str], schema: Schema) -> Reading:
    """Read the `DRAY_*` variables; an empty one stands for "unset"."""
    fields = {field.variable: field for field in schema.fields()}
    reading = Reading()
    for name, text in sorted(environ.items()):
        if name in fields:
            reading.given.append(Given(fields[name], text or None, Origin("environment", name)))
        elif name.startswith(_PREFIX) and not _known(name, text):
            reading.problems.append(_unknown_variable(name, text, fields, schema))
    return reading


def read_flags(own: Mapping[str, str], pairs: Iterable[str], schema: Schema) -> Reading:
    """Read settings that have a flag of their own (`own`: flag to text), then `--set` pairs."""
    fields = {field.flag: field for field in schema.fields() if field.flag is not None}
    reading = Reading()
    for flag, text in own.items():
        _read_flag(fields[flag], text, flag, reading)
    for pair in pairs:
        _read_pair(pair, schema, reading)
    return reading


def _read_pair(pair: str, schema: Schema, reading: Reading) -> None:
    path, equals, text = pair.partition("=")
    field = schema.find(path)
    if not equals:
        what = f"{quoted(path)} has no value; write --set SECTION.KEY=VALUE"
        reading.problems.append(Problem(Origin("flag", "--set"), what))
    elif field is None:
        reading.problems.append(unknown_key(Origin("flag", "--set"), path, text, schema))
    else:
        _read_flag(field, text, "--set", reading)


def _read_flag(field: Field, text: str, flag: str, reading: Reading) -> None:
    origin = Origin("flag", flag)
    if field.kind == "secret" and not text.startswith("file:"):
        what = (
            f"{field.path} is a secret and every user of this machine can read flags; "
            f"give file:PATH, or set {field.variable}"
        )
        reading.problems.append(Problem(origin, what))
    else:
        reading.given.append(Given(field, text or None, origin))


def _known(name: str, text: str) -> bool:
    if name in OTHER_VARIABLES or name.startswith(_TEST_PREFIX):
        return True
    if _KUBERNETES_NAME.fullmatch(name):
        return True
    return name.endswith("_PORT") and _KUBERNETES_PORT.fullmatch(text) is not None


def _unknown_variable(name: str, text: str, fields: Mapping[str, Field], schema: Schema) -> Problem:
    hint = did_you_mean(name, [*fields, *OTHER_VARIABLES])
    shown = value_shown(_key_in(name, schema), text, schema)
    return Problem(Origin("environment", name), f"Dray knows no such variable{shown}{hint}; {_ALLOWED}")


def _key_in(name: str, schema: Schema) -> str:
    """Return the part of a variable's name that is meant for a key."""
    rest = name.removeprefix(_PREFIX).lower()
    sections = [section for section in schema.sections if rest.startswith(f"{section}_")]
    return rest.removeprefix(f"{sections[0]}_") if sections else rest
