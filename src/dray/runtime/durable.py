"""Making what was done to a directory survive a power cut."""

import os


def sync_directory(directory: str | os.PathLike[str]) -> None:
    """Make the names in a directory durable."""
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
