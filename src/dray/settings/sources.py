"""Settings from the environment and from flags.

The variable of a setting is `DRAY_<SECTION>_<KEY>`; a secret also has `DRAY_<SECTION>_<KEY>_FILE`, the path
of the file that it is in. Any other `DRAY_*` variable is an error, because it is
most likely a typo. Exceptions are `OTHER_VARIABLES` and those that Kubernetes sets in every
container for a Service whose name begins with "dray".
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from dray.settings.problems import Origin, Problem, did_you_mean, quoted
from dray.settings.schema import Schema, Target
from dray.settings.source_values import Reading, unknown_key, value_shown
from dray.settings.values import REFERENCE

OTHER_VARIABLES: Final[Mapping[str, str]] = {
    "DRAY_BOOTSTRAP": "Address of the broker that client commands use, unless `--bootstrap` is given.",
    "DRAY_CONFIG": "Path of the settings file, unless `--config` is given.",
    "DRAY_DEBUG": "1 makes a failing command print its traceback.",
}

_ALLOWED: Final = "variables are named DRAY_SECTION_KEY; `dray config show` lists the settings"
_PREFIX: Final = "DRAY_"
_KUBERNETES_NAME: Final = re.compile(
    r"DRAY_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)", re.ASCII
)
_KUBERNETES_PORT: Final = re.compile(r"(tcp|udp|sctp)://.*")


def read_environment(environ: Mapping[str, str], schema: Schema) -> Reading:
    """Read the `DRAY_*` variables; an empty one means unset."""
    targets = {target.variable: target for target in schema.targets()}
    reading = Reading()
    for name, text in sorted(environ.items()):
        if name in targets:
            reading.add(targets[name], text or None, Origin("environment", name))
        elif name.startswith(_PREFIX) and not _known(name, text):
            reading.problems.append(_unknown_variable(name, text, schema))
    return reading


def read_flags(own: Mapping[str, str], pairs: Iterable[str], schema: Schema) -> Reading:
    """Read settings with a flag of their own (`own`: flag to text), then `--set` pairs."""
    fields = {field.flag: field for field in schema.fields() if field.flag is not None}
    reading = Reading()
    for flag, text in own.items():
        _read_flag(Target(fields[flag]), text, flag, reading)
    for pair in pairs:
        _read_pair(pair, schema, reading)
    return reading


def _read_pair(pair: str, schema: Schema, reading: Reading) -> None:
    path, equals, text = pair.partition("=")
    target = schema.target(path)
    if not equals:
        what = f"{quoted(path)} has no value; write --set SECTION.KEY=VALUE"
        reading.problems.append(Problem(Origin("flag", "--set"), what))
    elif target is None:
        reading.problems.append(unknown_key(Origin("flag", "--set"), path, text, schema))
    else:
        _read_flag(target, text, "--set", reading)


def _read_flag(target: Target, text: str, flag: str, reading: Reading) -> None:
    origin, field = Origin("flag", flag), target.field
    if field.kind == "secret" and not target.is_file and not text.startswith(REFERENCE):
        what = (
            f"{field.path} is a secret, and every user of this machine can read flags; "
            f"pass {field.path}_file=PATH, or set {field.variable}"
        )
        reading.problems.append(Problem(origin, what))
    else:
        reading.add(target, text or None, origin)


def _known(name: str, text: str) -> bool:
    if name in OTHER_VARIABLES:
        return True
    if _KUBERNETES_NAME.fullmatch(name):
        return True
    return name.endswith("_PORT") and _KUBERNETES_PORT.fullmatch(text) is not None


def _unknown_variable(name: str, text: str, schema: Schema) -> Problem:
    hint = did_you_mean(name, [*(target.variable for target in schema.targets()), *OTHER_VARIABLES])
    shown = value_shown(_key_in(name, schema), text, schema)
    return Problem(Origin("environment", name), f"unknown variable{shown}{hint}; {_ALLOWED}")


def _key_in(name: str, schema: Schema) -> str:
    """Return the part of a variable's name that stands for the key."""
    rest = name.removeprefix(_PREFIX).lower()
    sections = [section for section in schema.sections if rest.startswith(f"{section}_")]
    return rest.removeprefix(f"{sections[0]}_") if sections else rest
