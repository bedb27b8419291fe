"""The system clock, system randomness, and seeded randomness."""

import time

from dray.runtime import SystemClock, SystemEntropy
from dray.testing.entropy import SeededEntropy


async def test_system_clock_returns_wall_time_in_milliseconds_and_moves_forward() -> None:
    clock = SystemClock()
    before = time.time()
    assert before - 1 <= clock.now_ms() / 1000 <= time.time() + 1
    began = clock.monotonic()
    await clock.sleep(0.001)
    assert clock.monotonic() > began


def test_system_tokens_are_unique() -> None:
    entropy = SystemEntropy()
    tokens = {entropy.token(16) for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {16}
    assert all(2.0 <= entropy.uniform(2.0, 3.0) <= 3.0 for _ in range(100))


def test_seeded_entropy_is_repeatable() -> None:
    def choices(seed: int | str) -> tuple[bytes, float, bytes]:
        entropy = SeededEntropy(seed)
        return entropy.token(8), entropy.uniform(0, 1), entropy.token(8)

    assert choices(7) == choices(7)
    assert choices("node a") == choices("node a")
    assert choices(7) != choices(8)
