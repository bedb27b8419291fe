"""The effective settings of this process: file, environment and flags, read once at startup."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dray.settings.load import Loaded, load
from dray.settings.problems import DEFAULT, Origin, Problem, SettingsError
from dray.settings.schema import Schema, schema_of
from dray.settings.source_values import Reading
from dray.settings.sources import read_environment, read_flags
from dray.settings.tree import DraySettings, with_data_dir
from dray.settings.yaml_file import SETTINGS_BYTES_MAX, read_yaml


def load_settings(
    config: str | None, environ: Mapping[str, str], flags: Mapping[str, str], pairs: Sequence[str]
) -> Loaded[DraySettings]:
    """Return the effective settings, or raise `SettingsError` with all problems."""
    schema = schema_of(DraySettings)
    readings = [
        Reading() if config is None else _read_file(config, schema),
        read_environment(environ, schema),
        read_flags(flags, pairs, schema),
    ]
    files = _SecretFiles()
    loaded = load(DraySettings, schema, readings, files.read)
    if config is not None and any(one.is_plain_secret for one in readings[0].given):
        files.note(config, Path(config).stat())
    try:
        loaded = replace(loaded, settings=with_data_dir(loaded.settings), exposed=tuple(files.exposed))
    except ValueError as error:
        origin = loaded.origins.get("broker.data_dir", DEFAULT)
        raise SettingsError([Problem(origin, f"broker.data_dir does not fit into a URL: {error}")]) from error
    _check_separate_files(loaded)
    return loaded


def _check_separate_files(loaded: Loaded[DraySettings]) -> None:
    """Refuse one SQLite file for both catalog and metadata store, which are unaware of each other."""
    catalog, metadata = loaded.settings.tables.catalog, loaded.settings.metadata.url
    if catalog.startswith("sqlite:") and _file_of(catalog) == _file_of(metadata):
        origin = loaded.origins.get("tables.catalog", DEFAULT)
        raise SettingsError(
            [Problem(origin, f"tables.catalog is the metadata store, {metadata}; choose another file")]
        )


def _file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:")).resolve()


def _read_file(config: str, schema: Schema) -> Reading:
    try:
        data = _read_bytes(config)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Reading(problems=[Problem(Origin("file", config), f"cannot read the settings file: {reason}")])
    return read_yaml(config, data, schema)


class _SecretFiles:
    """Reads the files of secrets, and notes which of them others can read."""

    def __init__(self) -> None:
        self.exposed: list[str] = []

    def read(self, path: str) -> str:
        with Path(path).open("rb") as file:
            self.note(path, os.fstat(file.fileno()))
            return file.read(SETTINGS_BYTES_MAX + 1).decode()

    def note(self, path: str, status: os.stat_result) -> None:
        if status.st_mode & stat.S_IROTH and path not in self.exposed:
            self.exposed.append(path)


def _read_bytes(path: str) -> bytes:
    """Read at most one byte more than the limit, so that a larger file is detected."""
    with Path(path).open("rb") as file:
        return file.read(SETTINGS_BYTES_MAX + 1)
