"""Whether anybody answers where Spark's master should be.

Spark itself tries for a minute before it says that nobody does, and does not say where it tried.
"""

import socket
from typing import Final

from dray.pipeline.spark.jvm import SparkFailed
from dray.pipeline.spark.settings import SparkSettings

_STANDALONE: Final = "spark://"
_PATIENCE_S: Final = 5.0


def check_master(settings: SparkSettings) -> None:
    """Raise `SparkFailed` if none of the masters of a standalone cluster answers. Blocks."""
    master = settings.further.get("spark.master", settings.master)
    if not master.startswith(_STANDALONE):
        return
    failures = []
    for place in master.removeprefix(_STANDALONE).split(","):
        host, _, port = place.strip().rpartition(":")
        if not host or not port.isdecimal():
            return  # Spark says what is wrong with it
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S).close()
        except (OSError, OverflowError, UnicodeError) as error:  # the last two: no port, no name
            failures.append(f"{place.strip()}: {error}")
        else:
            return
    raise SparkFailed(f"no Spark master answers ({'; '.join(failures)}); start it, or change spark.master")
