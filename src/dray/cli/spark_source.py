"""Spark's `format("dray")` on the settings of Dray: options name the cluster as flags name it for a command.

`config` is a settings file, `data_dir`, `metadata` and `storage` are what the flags of those names are, and
any `SECTION.KEY` is a setting. `DRAY_*` variables count as everywhere: those of the process that started
Spark's JVM. All else is for the reader or the writer.
"""

import os
from collections.abc import Mapping
from typing import Final

from typing_extensions import override

from dray.cli.access import cluster_access, storage_access
from dray.cli.settings import SettingsError, load_settings
from dray.cli.settings.problems import Problem
from dray.pipeline.spark.options import OptionWrong
from dray.pipeline.spark.source import Connection, DraySource

_FLAGS: Final = {"data_dir": "--data-dir", "metadata": "--metadata", "storage": "--storage"}
_CONFIG: Final = "config"
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
    settings = loaded.settings
    return Connection(cluster_access(settings), storage_access(settings), given)


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
