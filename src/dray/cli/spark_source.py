"""Spark's `format("dray")` on the settings of Dray: options name the cluster as flags name it for a command.

`config` is a settings file, `data_dir`, `metadata` and `storage` are what the flags of those names are, and
any `SECTION.KEY` is a setting. `DRAY_*` variables count as everywhere: those of the process that started
Spark's JVM. All else is for the reader or the writer.

Executors may run elsewhere, so relative paths are made whole here, on the driver.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import structs
from typing_extensions import override

from dray.cli.access import cluster_access, storage_access
from dray.cli.settings import DraySettings, SettingsError, load_settings
from dray.cli.settings.problems import Problem
from dray.objects.url import parse_storage_url
from dray.pipeline.spark.source import Connection, DraySource
from dray.pipeline.spark.source.errors import OptionWrong

_FLAGS: Final = {"data_dir": "--data-dir", "metadata": "--metadata", "storage": "--storage"}
_CONFIG: Final = "config"
_SQLITE: Final = "sqlite:"
_FILE: Final = "file:"
_KEPT: Final = "option."


class DefaultSource(DraySource):
    """What Spark finds in `pyspark_dray`."""

    @staticmethod
    @override
    def connect(options: Mapping[str, str]) -> Connection:
        return connection(options, os.environ)


def connection(options: Mapping[str, str], environ: Mapping[str, str]) -> Connection:
    """Return how to reach the cluster that the options name; raises `OptionWrong`."""
    given = _checked({key.lower(): text for key, text in options.items()})
    config = given.pop(_CONFIG, None) or environ.get("DRAY_CONFIG")
    flags = {flag: given.pop(name) for name, flag in _FLAGS.items() if name in given}
    pairs = [f"{key}={given.pop(key)}" for key in sorted(given) if "." in key]
    try:
        loaded = load_settings(config, environ, flags, pairs)
    except SettingsError as error:
        raise OptionWrong("\n".join(_told(problem) for problem in error.problems)) from error
    settings = anchored(loaded.settings)
    return Connection(cluster_access(settings), storage_access(settings), given)


def anchored(settings: DraySettings) -> DraySettings:
    """Make relative paths whole, so that they mean the same wherever Spark runs."""
    metadata, storage = settings.metadata, settings.storage
    if metadata.url.startswith(_SQLITE):
        path = Path(metadata.url.removeprefix(_SQLITE)).absolute()
        metadata = structs.replace(metadata, url=f"{_SQLITE}{path}")
    parsed = parse_storage_url(storage.url)
    if parsed.scheme == "file":
        storage = structs.replace(storage, url=f"{_FILE}{Path(parsed.path).absolute()}")
    return structs.replace(settings, metadata=metadata, storage=storage)


def _checked(given: dict[str, str]) -> dict[str, str]:
    """Refuse a table of Spark's catalogue: Spark keeps its options, and gives none of them to a reader."""
    if any(key.startswith(_KEPT) for key in given):
        raise OptionWrong(
            "Spark does not hand the options of a table in its catalogue to a Python source; "
            "use CREATE TEMPORARY VIEW in place of CREATE TABLE"
        )
    return given


def _told(problem: Problem) -> str:
    """Tell of a problem as Spark's user knows it: what is a flag elsewhere is an option here."""
    if problem.origin.kind != "flag":
        return str(problem)
    names = {flag: name for name, flag in _FLAGS.items()}
    return f"option {names.get(problem.origin.name, '')}".rstrip() + f": {problem.what}"
