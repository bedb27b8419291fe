"""What this Spark knows about bounding a trigger: from 4.2 on it asks a source for a part of what is there.

Before, it asked for the end and took everything up to it, with AvailableNow too; a source that answered less
than the end would never be asked for the rest. So what is there is looked for, and not a version.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

_MODULE: Final = "pyspark.sql.streaming.datasource"


def _found() -> ModuleType | None:
    return None if find_spec(_MODULE) is None else import_module(_MODULE)


LIMITS: Final = _found()
"""Spark's own module of limits; None where a trigger cannot be bounded."""


def records_max(limit: object) -> int | None:
    """Return how many records a limit of Spark's allows; None is as many as there are."""
    found = getattr(limit, "max_rows", None)
    return found if isinstance(found, int) else None


def limit_of(limits: ModuleType, records: int | None) -> Any:  # noqa: ANN401 - a class that only some have
    """Return Spark's own word for so many records."""
    return limits.ReadAllAvailable() if records is None else limits.ReadMaxRows(records)
