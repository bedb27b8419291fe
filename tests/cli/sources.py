"""A small tree of settings and short ways to load it, for the tests of the loader."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from dray.cli.settings.load import Loaded, load
from dray.cli.settings.schema import schema_of
from dray.cli.settings.secret import Secret
from dray.cli.settings.sources import read_environment, read_flags
from dray.cli.settings.yaml_file import read_yaml


class Pump(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A section with every kind of setting."""

    name: Annotated[str, Meta(description="A name.", max_length=9, extra={"flag": "--name"})] = "p"
    linger_ms: Annotated[int, Meta(description="A wait.", ge=0, le=60_000)] = 5
    flush_bytes: Annotated[int, Meta(description="A size.", ge=1024)] = 8 << 20
    workers: Annotated[int, Meta(description="A count.", ge=1)] = 2
    ratio: Annotated[float, Meta(description="A share.", ge=0, le=1)] = 0.5
    eager: Annotated[bool, Meta(description="A switch.")] = False
    mode: Annotated[Literal["slow", "fast"], Meta(description="A choice.")] = "slow"
    zone: Annotated[str | None, Meta(description="May be unset.")] = None
    password: Annotated[Secret | None, Meta(description="A secret.")] = None

    def __post_init__(self) -> None:
        if self.eager and self.linger_ms:
            raise ValueError("eager needs linger_ms 0")


class Drain(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A section with a setting that must be given."""

    depth: Annotated[int, Meta(description="A depth.")]


class Works(Struct, frozen=True, kw_only=True):
    """The tree."""

    pump: Pump


class Sewers(Struct, frozen=True, kw_only=True):
    """A tree with a required setting."""

    drain: Drain


SCHEMA = schema_of(Works)
SECRET_FILES = {"/run/password": "hunter2\n", "/run/empty": ""}


def read_secret(path: str) -> str:
    if path not in SECRET_FILES:
        raise FileNotFoundError(2, "No such file or directory")
    return SECRET_FILES[path]


def loaded(
    yaml: str | bytes = "",
    env: Mapping[str, str] | None = None,
    own: Mapping[str, str] | None = None,
    pairs: Sequence[str] = (),
) -> Loaded[Works]:
    data = yaml.encode() if isinstance(yaml, str) else yaml
    readings = [
        read_yaml("works.yaml", data, SCHEMA),
        read_environment(env or {}, SCHEMA),
        read_flags(own or {}, pairs, SCHEMA),
    ]
    return load(Works, SCHEMA, readings, read_secret)


def pump(yaml: str = "", env: Mapping[str, str] | None = None, pairs: Sequence[str] = ()) -> Pump:
    return loaded(yaml, env, pairs=pairs).settings.pump


def as_plain(value: Struct) -> dict[str, object]:
    return msgspec.structs.asdict(value)
