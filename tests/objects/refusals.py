"""The messages of a store that refuses everything: wrong credentials, or a bucket that does not exist."""

from collections.abc import Awaitable, Callable

import pytest

from dray.objects.port import ByteRange, ObjectStore, StoreUnusable
from dray.testing.contracts.objects import paths_of


async def refusals(store: ObjectStore) -> list[str]:
    """Run all operations; each must raise `StoreUnusable`. Return the messages."""
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: store.put_new("a", [b"1"]),
        lambda: store.get("a"),
        lambda: store.get_ranges("a", [ByteRange(0, 1)]),
        lambda: store.head("a"),
        lambda: paths_of(store, ""),
    ]
    messages = []
    for call in calls:
        with pytest.raises(StoreUnusable) as caught:
            await call()
        messages.append(str(caught.value))
    await store.close()
    return messages
