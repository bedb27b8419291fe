"""What is wrong with a WAL object that cannot be read.

    CorruptWal               it is damaged: restore it or give it up
    └── UnknownWalVersion    it may be sound, but this Dray is too old for it

A reader needs to know which of the two it met, never more.
"""


class CorruptWal(Exception):
    """An object is not a sound WAL object."""

    def __init__(self, name: str, position: int, cause: str) -> None:
        super().__init__(f"WAL object {name} is corrupt at byte {position}: {cause}")
        self.name = name
        self.position = position
        self.cause = cause


class UnknownWalVersion(CorruptWal):
    """An object of a version that this code does not know."""
