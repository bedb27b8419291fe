"""Signing keys that are published while the broker runs: when the key set is read again."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from dray.net.signing_keys import TokenKeys
from dray.sasl import Claims, InvalidToken
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.net.gates import InlineThreads
from tests.sasl.keys import ec_key
from tests.sasl.signing import NOW_MS, RULES, signed

P = ParamSpec("P")
T = TypeVar("T")
READ_EVERY_S = 10


class CountingThreads(InlineThreads):
    """Counts the readings of the key set, which take a second."""

    def __init__(self) -> None:
        super().__init__("keys", 1)
        self.readings = 0

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.readings += 1
        found = await super().run(call, *args, **kwargs)
        await asyncio.sleep(1)
        return found


class Published:
    """A key set in a file, and a broker's view of it, which has the key `old`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "keys.json"
        self.publish("old")
        self._threads = CountingThreads()
        self.clock = VirtualClock(virtual_loop())
        self.keys = TokenKeys(str(self._file), RULES, self._threads, self.clock)

    @property
    def readings(self) -> int:
        return self._threads.readings

    def publish(self, *key_ids: str) -> None:
        self._file.write_text(json.dumps({"keys": [ec_key(one).as_dict(private=False) for one in key_ids]}))

    async def accepts(self, key_id: str, named: str | None = None) -> bool:
        """Return whether a token that the key has signed, and that names a key, is valid."""
        token = signed(key=ec_key(key_id), algorithm="ES256", kid=named or key_id)
        return isinstance(await self.keys.verify(token, NOW_MS), Claims)


def test_token_of_a_new_key_is_accepted_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        published = Published(tmp_path)
        await published.keys.refresh()
        assert await published.accepts("old")
        await published.clock.sleep(READ_EVERY_S)
        published.publish("old", "new")
        assert await asyncio.gather(*(published.accepts(one) for one in ("new", "old", "new"))) == [True] * 3
        assert published.readings == 2

    run(main())


def test_tokens_of_unknown_keys_cause_one_reading_in_ten_seconds(tmp_path: Path) -> None:
    async def main() -> None:
        published = Published(tmp_path)
        await published.keys.refresh()
        for _ in range(3):
            await published.clock.sleep(READ_EVERY_S)
            assert not any(await asyncio.gather(*(published.accepts(f"forged {one}") for one in range(20))))
        assert published.readings == 4

    run(main())


def test_only_an_unknown_key_causes_a_reading(tmp_path: Path) -> None:
    async def main() -> None:
        published = Published(tmp_path)
        await published.keys.refresh()
        await published.clock.sleep(READ_EVERY_S)
        assert not await published.accepts("new", "old"), "signed by another key than it names"
        for token in ("not a token", signed(key=ec_key("old"), algorithm="ES256", kid=None)[:-4] + "AAAA"):
            assert isinstance(await published.keys.verify(token, NOW_MS), InvalidToken)
        assert published.readings == 1

    run(main())


def test_keys_stay_in_use_if_they_cannot_be_read_again(tmp_path: Path) -> None:
    async def main() -> None:
        published = Published(tmp_path)
        await published.keys.refresh()
        await published.clock.sleep(READ_EVERY_S)
        published.publish()
        assert not await published.accepts("new")
        assert await published.accepts("old")

    run(main())
