"""The authenticator: what it computes for clients that do not wait for the answer."""

import asyncio
import threading

import pytest

from dray.ids import Principal
from dray.net.authenticator import MECHANISMS, Authenticator
from dray.runtime import SystemClock, Threads
from dray.sasl import ScramCredential, ScramMechanism, UnknownUsers, plain
from dray.sasl.credentials import verify_password
from dray.testing.entropy import SeededEntropy
from tests.net.gates import PASSWORD, Users


def test_passwords_of_clients_that_have_gone_are_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []

    def recorded(mechanism: ScramMechanism, password: str, credential: ScramCredential) -> bool:
        verified.append(password)
        return verify_password(mechanism, password, credential)

    async def main() -> None:
        threads, busy = Threads("passwords", 1), threading.Event()
        unknown = UnknownUsers(b"a secret of the cluster")
        logins = Authenticator(MECHANISMS, Users(), unknown, SystemClock(), SeededEntropy("gone"), threads)
        blocking = asyncio.ensure_future(threads.run(busy.wait))
        gone = [asyncio.ensure_future(logins.by_password("alice", f"guess {number}")) for number in range(50)]
        staying = asyncio.ensure_future(logins.by_password("alice", PASSWORD))
        await asyncio.wait([blocking, *gone], timeout=0)
        for attempt in gone:
            attempt.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        busy.set()
        assert await staying == Principal.user("alice")
        assert verified == [PASSWORD] * len(ScramMechanism)
        await threads.stop()

    monkeypatch.setattr(plain, "verify_password", recorded)
    asyncio.run(main())
