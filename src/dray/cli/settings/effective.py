"""The settings of this process: reads file, environment and flags, once, at start."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dray.cli.settings.given import Reading
from dray.cli.settings.load import Loaded, load
from dray.cli.settings.problems import DEFAULT, Origin, Problem, SettingsError
from dray.cli.settings.schema import Schema, schema_of
from dray.cli.settings.sources import read_environment, read_flags
from dray.cli.settings.tree import DraySettings, with_data_dir
from dray.cli.settings.yaml_file import SETTINGS_BYTES_MAX, read_yaml


def load_settings(
    config: str | None, environ: Mapping[str, str], flags: Mapping[str, str], pairs: Sequence[str]
) -> Loaded[DraySettings]:
    """Return the effective settings, or raise `SettingsError` with everything that is wrong."""
    schema = schema_of(DraySettings)
    readings = [
        Reading() if config is None else _read_file(config, schema),
        read_environment(environ, schema),
        read_flags(flags, pairs, schema),
    ]
    loaded = load(DraySettings, schema, readings, _read_text)
    try:
        loaded = replace(loaded, settings=with_data_dir(loaded.settings))
    except ValueError as error:
        origin = loaded.origins.get("broker.data_dir", DEFAULT)
        raise SettingsError([Problem(origin, f"broker.data_dir makes a wrong URL: {error}")]) from error
    _check_apart(loaded)
    return loaded


def _check_apart(loaded: Loaded[DraySettings]) -> None:
    """See to it that catalogue and metadata store, which know nothing of each other, have a file each."""
    catalog, metadata = loaded.settings.tables.catalog, loaded.settings.metadata.url
    if catalog.startswith("sqlite:") and _file_of(catalog) == _file_of(metadata):
        origin = loaded.origins.get("tables.catalog", DEFAULT)
        raise SettingsError(
            [Problem(origin, f"tables.catalog is the metadata store, {metadata}: give it a file of its own")]
        )


def _file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:")).resolve()


def _read_file(config: str, schema: Schema) -> Reading:
    try:
        data = _read_bytes(config)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Reading(
            problems=[Problem(Origin("file", config), f"the settings file cannot be read: {reason}")]
        )
    return read_yaml(config, data, schema)


def _read_text(path: str) -> str:
    return _read_bytes(path).decode()


def _read_bytes(path: str) -> bytes:
    """Read a file that is meant to be small; one byte more than the limit, so that it can be told."""
    with Path(path).open("rb") as file:
        return file.read(SETTINGS_BYTES_MAX + 1)
