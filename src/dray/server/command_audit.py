"""The audit log of commands that change the metadata store themselves, on their standard error.

Such a command asks no broker for rights: what it may do is decided by the store. So its lines, which have the
form of those of brokers, name the user and the host of the operating system. The logs of brokers do not have
them: a complete record includes the standard error of such commands.
"""

import getpass
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from dray.api.audit import AuditLog, Caller
from dray.ids import Principal
from dray.observe import logging_to
from dray.runtime import SystemClock
from dray.settings.tree import LoggingSettings

_USERS: Final = "OS"
"""The type of principals that are users of the operating system."""
_FAILED: Final = "failed"


@contextmanager
def audited(settings: LoggingSettings, command: str, subjects: Sequence[str]) -> Iterator[list[str]]:
    """Log a change that the block makes, and whether it failed.

    Yields the list of things that are changed, which the block may replace.
    """
    changed, errors = list(subjects), [_FAILED]
    try:
        yield changed
        errors = []
    finally:
        with logging_to(sys.stderr, "audit", settings.format, settings.level):
            AuditLog(SystemClock()).changed(_caller(command), changed, errors)


def _caller(command: str) -> Caller:
    return Caller(Principal(_USERS, _user()), socket.gethostname(), "", command)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # containers may run as a user who has no name
        return str(os.getuid())
