"""Administration of users in the metadata store, without a broker.

It needs access to the store and no rights in the cluster: the first super user is made so. Running brokers
see a change a moment later.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dray.cluster.users import Users
from dray.index import CorruptValue
from dray.meta.port import MetaStore
from dray.runtime import SystemClock, SystemEntropy
from dray.sasl import (
    ITERATIONS_DEFAULT,
    RANDOM_BYTES,
    Credentials,
    InvalidCredential,
    ScramCredential,
    ScramMechanism,
    derive,
    printable,
)
from dray.server.access import inspect_metadata
from dray.server.command_audit import audited
from dray.server.errors import StartupError
from dray.settings import DraySettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class User:
    """A user, and the iterations of each credential by mechanism."""

    name: str
    iterations: dict[str, int]


def list_users(settings: DraySettings) -> list[User]:
    async def read(users: Users) -> list[User]:
        await users.refresh_all()
        return [_shown(name, users.credentials(name)) for name in users.names()]

    return _with_users(settings, read)


def add_user(settings: DraySettings, name: str, password: str, mechanisms: Sequence[ScramMechanism]) -> None:
    """Create a user; raises `StartupError` if it exists."""
    made = _derived(password, mechanisms)

    def created(old: Credentials) -> Credentials:
        if old:
            raise StartupError(f"user '{name}' exists already; `dray users passwd` changes the password")
        return made

    _change(settings, "add", name, created)


def set_password(
    settings: DraySettings, name: str, password: str, mechanisms: Sequence[ScramMechanism]
) -> None:
    """Replace all credentials of a user; raises `StartupError` if there is no such user."""
    made = _derived(password, mechanisms)

    def replaced(old: Credentials) -> Credentials:
        if not old:
            raise _missing(name)
        return made

    _change(settings, "passwd", name, replaced)


def delete_user(settings: DraySettings, name: str) -> None:
    """Delete a user; raises `StartupError` if there is no such user."""

    def nothing(old: Credentials) -> Credentials:
        if not old:
            raise _missing(name)
        return {}

    _change(settings, "delete", name, nothing)


def _derived(password: str, mechanisms: Sequence[ScramMechanism]) -> dict[ScramMechanism, ScramCredential]:
    entropy = SystemEntropy()
    try:
        return {
            mechanism: derive(
                mechanism, password, printable(entropy.token(RANDOM_BYTES)).encode(), ITERATIONS_DEFAULT
            )
            for mechanism in mechanisms
        }
    except InvalidCredential as error:
        raise StartupError(str(error)) from error


def _change(
    settings: DraySettings, command: str, name: str, change: Callable[[Credentials], Credentials]
) -> None:
    with audited(settings.logging, f"dray users {command}", [f"USER:{name}"]):
        _with_users(settings, lambda users: users.change(name, change))


def _with_users(settings: DraySettings, work: Callable[[Users], Awaitable[T]]) -> T:
    async def run(meta: MetaStore) -> T:
        return await work(Users(meta, SystemClock()))

    try:
        return inspect_metadata(settings, run)
    except CorruptValue as error:
        raise StartupError(str(error)) from error


def _shown(name: str, credentials: Credentials) -> User:
    found = {mechanism.value: one.iterations for mechanism, one in credentials.items()}
    return User(name, dict(sorted(found.items())))


def _missing(name: str) -> StartupError:
    return StartupError(f"there is no user '{name}'; `dray users list` lists all")
