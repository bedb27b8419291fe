"""The identity of a Parquet file."""

from typing import NewType

FileId = NewType("FileId", bytes)
"""Sixteen bytes: a UUID, never given to two files."""
