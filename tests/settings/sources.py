"""Small tree of settings, and functions that load it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from dray.settings.load import Loaded, load
from dray.settings.schema import schema_of
from dray.settings.secret import Secret
from dray.settings.sources import read_environment, read_flags
from dray.settings.yaml_file import read_yaml


class Writer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
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


class Reader(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A section with a required setting."""

    depth: Annotated[int, Meta(description="A depth.")]


class Tree(Struct, frozen=True, kw_only=True):
    """A tree of one section."""

    writer: Writer


class RequiredTree(Struct, frozen=True, kw_only=True):
    """A tree with a required section and setting."""

    reader: Reader


SCHEMA = schema_of(Tree)
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
) -> Loaded[Tree]:
    data = yaml.encode() if isinstance(yaml, str) else yaml
    readings = [
        read_yaml("dray.yaml", data, SCHEMA),
        read_environment(env or {}, SCHEMA),
        read_flags(own or {}, pairs, SCHEMA),
    ]
    return load(Tree, SCHEMA, readings, read_secret)


def writer(yaml: str = "", env: Mapping[str, str] | None = None, pairs: Sequence[str] = ()) -> Writer:
    return loaded(yaml, env, pairs=pairs).settings.writer


def as_plain(value: Struct) -> dict[str, object]:
    return msgspec.structs.asdict(value)
