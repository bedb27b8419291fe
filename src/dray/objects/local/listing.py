"""Listing of a tree of files in byte order of their paths, one folder at a time.

Synchronous steps, run in a thread.

The path of a folder ends with a slash and sorts with it: `a-b` and `a.b` come before the content of `a/`,
`a0` after it. Sorting the names of one folder like this and descending into each folder in order yields all
paths in order, while holding only the folders of the current path.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from dray.objects.local.read import info_of
from dray.objects.paths import is_segment
from dray.objects.port import ObjectInfo


def list_folder(root: Path, folder: str, prefix: str, after: str) -> list[str]:
    """Return the matching paths in a folder, sorted, folders with a slash. A deleted folder is empty."""
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
    return sorted(path for path in paths if _matches(path, prefix, after))


def _matches(path: str, prefix: str, after: str) -> bool:
    if not path.endswith("/"):
        return path > after and path.startswith(prefix)
    if path < after and not after.startswith(path):
        return False
    return path.startswith(prefix) or prefix.startswith(path)


def infos(root: Path, paths: Sequence[str]) -> list[ObjectInfo]:
    """Return the metadata of these files, without those deleted in the meantime."""
    found = []
    for path in paths:
        try:
            found.append(info_of(root, path))
        except FileNotFoundError:
            continue
    return found
