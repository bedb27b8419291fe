"""Settings of Spark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

_NEXT: Final = ";"


class SparkSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where Spark runs, and its resources."""

    master: Annotated[
        str,
        Meta(
            min_length=1,
            description="Spark master: local[CORES,ATTEMPTS], or the URL of a cluster (Spark: "
            "`spark.master`).",
        ),
    ] = "local[*,3]"
    driver_memory: Annotated[
        str,
        Meta(
            pattern=r"^[1-9][0-9]*[kmgKMG]$",
            description="Heap size of the Spark driver (Spark: `spark.driver.memory`).",
        ),
    ] = "512m"
    conf: Annotated[
        str | None,
        Meta(
            description="Additional Spark properties; they override those that Dray sets.",
            extra={"allowed": "NAME=VALUE; NAME=VALUE; …"},
        ),
    ] = None

    def __post_init__(self) -> None:
        for pair in self._pairs():
            name, equals, _ = pair.partition("=")
            if not equals or not name.startswith("spark."):
                raise ValueError(f"{pair!r} in conf is not a Spark property; write spark.NAME=VALUE")

    @property
    def properties(self) -> dict[str, str]:
        """The properties in `conf`."""
        pairs = (pair.partition("=") for pair in self._pairs())
        return {name.strip(): value.strip() for name, _, value in pairs}

    def _pairs(self) -> list[str]:
        return [pair.strip() for pair in (self.conf or "").split(_NEXT) if pair.strip()]

    @property
    def is_local(self) -> bool:
        """Whether everything runs on this machine, within the driver."""
        return self.master.startswith("local")


def usual_cache(environ: Mapping[str, str]) -> Path:
    """Return the folder in which a start caches what makes the next one faster."""
    given = environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "dray" / "spark"
