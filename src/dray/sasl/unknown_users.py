"""Credentials of unknown users: made up, always the same, and matched by no password.

An exchange with an unknown user, or with a user who has no credential for the mechanism, continues with a
credential derived from a secret and the name. Every message and every step is then the same as after a wrong
password, so an unauthenticated client cannot find out which users exist.

The secret must be the same on every broker of a cluster and survive restarts: a salt that changes between
two attempts would give the user away. The iterations should be those of most users, for the same reason:
a client is sent them, and they determine how long PLAIN takes.
"""

from dataclasses import dataclass, field

from dray.sasl.credentials import (
    ITERATIONS_DEFAULT,
    ScramCredential,
    ScramMechanism,
    check_iterations,
    keyed_hash,
    printable,
)

SECRET_BYTES_MIN = 16


@dataclass(frozen=True, slots=True)
class UnknownUsers:
    """The source of credentials for unknown users."""

    secret: bytes = field(repr=False)
    iterations: int = ITERATIONS_DEFAULT

    def __post_init__(self) -> None:
        if len(self.secret) < SECRET_BYTES_MIN:
            raise ValueError(
                f"a secret of {len(self.secret)} bytes; expected at least {SECRET_BYTES_MIN} random ones"
            )
        check_iterations(self.iterations)

    def credential(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """Return the credential of a user who has none.

        Its stored key is not the hash of any known client key, so no proof and no password matches it.
        """
        return ScramCredential(
            salt=printable(self._derived(mechanism, b"salt", user)).encode(),
            stored_key=self._derived(mechanism, b"stored key", user),
            server_key=self._derived(mechanism, b"server key", user),
            iterations=self.iterations,
        )

    def _derived(self, mechanism: ScramMechanism, purpose: bytes, user: str) -> bytes:
        message = b"\0".join((b"unknown user", mechanism.value.encode(), purpose, user.encode()))
        return keyed_hash(mechanism, self.secret, message)
