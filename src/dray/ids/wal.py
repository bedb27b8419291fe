"""The identity of a WAL object."""

from typing import NewType

WalId = NewType("WalId", bytes)
"""Sixteen bytes: a UUID, never given to two objects."""
