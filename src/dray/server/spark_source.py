"""Cluster options of Spark's `format("dray")`, which name a cluster as command-line flags do.

`config` is a settings file; `data_dir`, `metadata` and `storage` mean the same as the flags of those names;
any `SECTION.KEY` is a setting. `DRAY_*` variables apply as everywhere: those of the process that started
Spark's JVM. All other options belong to the reader or the writer.
"""

import os
from collections.abc import Mapping
from typing import Final

from typing_extensions import override

from dray.server.access import cluster_access, storage_access
from dray.settings import SettingsError, load_settings
from dray.settings.problems import Problem
from dray.spark.errors import InvalidOption
from dray.spark.source import Connection, DraySource

_FLAGS: Final = {"data_dir": "--data-dir", "metadata": "--metadata", "storage": "--storage"}
_CONFIG: Final = "config"
_KEPT: Final = "option."


class DefaultSource(DraySource):
    """The data source that Spark finds in `pyspark_dray`."""

    @staticmethod
    @override
    def connect(options: Mapping[str, str]) -> Connection:
        return connection(options, os.environ)


register = DefaultSource.register


def connection(options: Mapping[str, str], environ: Mapping[str, str]) -> Connection:
    """Return the connection to the cluster that the options name; raises `InvalidOption`."""
    given = _checked({key.lower(): text for key, text in options.items()})
    config = given.pop(_CONFIG, None) or environ.get("DRAY_CONFIG")
    flags = {flag: given.pop(name) for name, flag in _FLAGS.items() if name in given}
    pairs = [f"{key}={given.pop(key)}" for key in sorted(given) if "." in key]
    try:
        loaded = load_settings(config, environ, flags, pairs)
    except SettingsError as error:
        raise InvalidOption("\n".join(_message(problem) for problem in error.problems)) from error
    settings = loaded.settings
    return Connection(cluster_access(settings), storage_access(settings), given)


def _checked(given: dict[str, str]) -> dict[str, str]:
    """Refuse a table of Spark's catalog: Spark does not pass its options on to a reader."""
    if any(key.startswith(_KEPT) for key in given):
        raise InvalidOption(
            "Spark does not pass the options of a table in its catalog to a Python data source; "
            "use CREATE TEMPORARY VIEW instead of CREATE TABLE"
        )
    return given


def _message(problem: Problem) -> str:
    """Word a problem for a user of Spark: what is a flag elsewhere is an option here."""
    if problem.origin.kind != "flag":
        return str(problem)
    names = {flag: name for name, flag in _FLAGS.items()}
    return f"option {names.get(problem.origin.name, '')}".rstrip() + f": {problem.what}"
