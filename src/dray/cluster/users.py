"""Users of the cluster and their SCRAM credentials: one key per user, followed by every broker.

A password is never stored. Logins read from memory, so they work while the store is unavailable; a change is
seen by other brokers a moment later, as in Kafka. Sessions that were authenticated before it continue.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dray.cluster.view import Directory, View
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, SCRAM_SECRET_KEY, USERS_PREFIX, user_key, users_range
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Write
from dray.runtime import Clock, Entropy, Tasks
from dray.sasl import Credentials, ScramCredential, ScramMechanism

_SECRET_BYTES: Final = 32


class StoredUser(msgspec.Struct, frozen=True, array_like=True, tag="u1"):
    """A user as it is stored: credentials by the name of their mechanism."""

    name: str
    credentials: dict[str, ScramCredential]


Change = Callable[[Credentials], Credentials]
"""Returns the new credentials of a user from the old ones; none deletes the user."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(StoredUser)


class Users:
    """The users as they were a moment ago, and changes of them."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        self._meta = meta
        directory = Directory(CLUSTER_DOMAIN, USERS_PREFIX, users_range(), _decoded)
        self._view: View[StoredUser] = View(meta, directory, clock)

    async def start(self, tasks: Tasks) -> None:
        """Start to follow the users; returns once they have been read."""
        await self._view.start(tasks)

    def names(self) -> list[str]:
        return sorted(user.name for user in self._view.values())

    def credentials(self, user: str) -> Credentials:
        """Return the credentials of a user; none if there is no such user."""
        known = self._view.get(user_key(user))
        return {} if known is None else _credentials_of(known)

    async def refresh_all(self) -> None:
        """Read all users now."""
        await self._view.refresh_all()

    async def change(self, user: str, change: Change) -> None:
        """Replace a user's credentials in one commit; `change` may be called more than once."""
        key = user_key(user)
        while True:
            entry = await self._meta.get(CLUSTER_DOMAIN, key)  # the view hides a corrupt value
            old = {} if entry is None else _credentials_of(_decoded(entry))
            new = change(old)
            write: Write = Put(key, _encoder.encode(_stored(user, new))) if new else Delete(key)
            check = Check(key, ABSENT if entry is None else entry.version)
            result = await self._meta.commit(CLUSTER_DOMAIN, [check], [write])
            await self._view.refresh(key)
            if not isinstance(result, Conflict):
                return


async def scram_secret(meta: MetaStore, entropy: Entropy) -> bytes:
    """Return the secret that credentials of unknown users are derived from; the first broker makes it."""
    while True:
        entry = await meta.get(CLUSTER_DOMAIN, SCRAM_SECRET_KEY)
        if entry is not None:
            return entry.value
        put = Put(SCRAM_SECRET_KEY, entropy.token(_SECRET_BYTES))
        await meta.commit(CLUSTER_DOMAIN, [Check(put.key, ABSENT)], [put])


def _stored(user: str, credentials: Credentials) -> StoredUser:
    return StoredUser(user, {mechanism.value: one for mechanism, one in credentials.items()})


def _credentials_of(user: StoredUser) -> Mapping[ScramMechanism, ScramCredential]:
    """Return the credentials of known mechanisms; a later version may have others."""
    known = {mechanism.value: mechanism for mechanism in ScramMechanism}
    return {known[name]: one for name, one in user.credentials.items() if name in known}


def _decoded(entry: Entry) -> StoredUser:
    return decoded(_decoder, entry.key, entry.value, "a user")
