"""The owner's side of a session, in virtual time."""

import asyncio
from collections.abc import Callable

from dray.meta.leased_session import LeasedSession, SessionCalls
from dray.meta.port import SessionId, Unavailable
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run

TTL_S = 3.0


class SlowStore:
    """Responds to a renewal after `seconds` with what `answer` returns."""

    def __init__(self, seconds: float, answer: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._answer = answer
        self.ended: list[SessionId] = []

    async def renew(self, session: SessionId) -> bool:
        await asyncio.sleep(self._seconds)
        return self._answer()

    async def end(self, session: SessionId) -> None:
        self.ended.append(session)


def unreachable() -> bool:
    raise Unavailable("out of reach")


def leased_in(store: SlowStore) -> LeasedSession:
    clock = VirtualClock(asyncio.get_running_loop())
    calls = SessionCalls(store.renew, store.end)
    session = LeasedSession(SessionId("s"), round(TTL_S * 1000), clock.monotonic(), clock, calls)
    session.start(Tasks())
    return session


def lost_after(store: SlowStore) -> float:
    """Return when the owner of a session in this store considers it lost."""

    async def main() -> float:
        session = leased_in(store)
        await session.wait_lost()
        assert not session.alive
        return asyncio.get_running_loop().time()

    return run(main())


def test_session_in_an_unreachable_store_is_lost_after_its_ttl() -> None:
    assert abs(lost_after(SlowStore(0.1, unreachable)) - TTL_S) < 0.01


def test_session_whose_renewal_hangs_is_lost_after_its_ttl() -> None:
    assert abs(lost_after(SlowStore(1_000, lambda: True)) - TTL_S) < 0.01


def test_session_unknown_to_the_store_is_lost_at_the_next_renewal() -> None:
    assert lost_after(SlowStore(0.0, lambda: False)) < TTL_S / 2


def test_renewed_session_stays_alive() -> None:
    async def main() -> bool:
        session = leased_in(SlowStore(0.1, lambda: True))
        await asyncio.sleep(20 * TTL_S)
        return session.alive

    assert run(main())


def test_failed_renewal_is_retried() -> None:
    in_reach = [True, True, False, True, False, False]

    def answer() -> bool:
        return True if not in_reach or in_reach.pop(0) else unreachable()

    async def main() -> bool:
        session = leased_in(SlowStore(0.05, answer))
        await asyncio.sleep(10 * TTL_S)
        return session.alive

    assert run(main())
    assert in_reach == []


def test_renewal_counts_from_its_request() -> None:
    """Requested at 1 s and answered at 1.9 s, it extends the lease to 4 s; the next one hangs."""
    delays = [0.9, 1_000.0]

    class Store(SlowStore):
        async def renew(self, session: SessionId) -> bool:
            await asyncio.sleep(delays.pop(0))
            return True

    assert abs(lost_after(Store(0.0, lambda: True)) - 4.0) < 0.01


def test_lost_session_stays_lost() -> None:
    async def main() -> None:
        session = leased_in(SlowStore(2.5, lambda: True))  # requested at 1 s, answered at 3.5 s
        await session.wait_lost()
        await asyncio.sleep(1)
        assert not session.alive

    run(main())


def test_close_ends_the_session_in_the_store_once() -> None:
    async def main() -> list[SessionId]:
        store = SlowStore(0.1, lambda: True)
        session = leased_in(store)
        await session.close()
        await session.close()
        assert not session.alive
        return store.ended

    assert run(main()) == [SessionId("s")]
