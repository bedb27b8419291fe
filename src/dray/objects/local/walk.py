"""Listing a tree of files in byte order of their paths, one folder at a time.

Synchronous steps, run in a thread.

A folder is written with its closing slash and sorts with it: `a-b` and `a.b` come before what is in `a/`,
`a0` after it. Sorting one folder's names that way and going into each folder where it stands gives all
paths in order, without holding more than the folders on the way.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from dray.objects.local.read import info_of
from dray.objects.paths import is_segment
from dray.objects.port import ObjectInfo


def children(root: Path, folder: str, prefix: str, after: str) -> list[str]:
    """Return what is wanted of a folder, sorted; folders end with a slash. One that is gone has nothing."""
    try:
        with os.scandir(root / folder) as entries:
            paths = [
                f"{folder}{entry.name}/" if entry.is_dir() else f"{folder}{entry.name}"
                for entry in entries
                if is_segment(entry.name)
            ]
    except (FileNotFoundError, NotADirectoryError):
        if not root.is_dir():
            raise
        return []
    return sorted(path for path in paths if _wanted(path, prefix, after))


def _wanted(path: str, prefix: str, after: str) -> bool:
    if not path.endswith("/"):
        return path > after and path.startswith(prefix)
    if path < after and not after.startswith(path):
        return False
    return path.startswith(prefix) or prefix.startswith(path)


def infos(root: Path, paths: Sequence[str]) -> list[ObjectInfo]:
    """Return what is known of these files; one that was deleted meanwhile is left out."""
    found = []
    for path in paths:
        try:
            found.append(info_of(root, path))
        except FileNotFoundError:
            continue
    return found
