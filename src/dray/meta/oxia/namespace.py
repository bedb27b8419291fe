"""Check when the store is opened: whose keys the namespace holds, and in which layout.

The key `f` marks a namespace of Dray with the version of its layout. It is created in an empty namespace, and
in one that an earlier build of Dray has used, which wrote no marker. The first key of each shard shows whose
they are: those of another application are not named like ours (see `keys`), or have other values.
"""

import re
from typing import Final

from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.client import NO_VERSION, OxiaClient, Stored
from dray.meta.oxia.records import decode_head
from dray.meta.port import StoreUnusable

FORMAT: Final = 1
MARKER: Final = "f"
_OWN: Final = re.compile(r"h[^!/]+|k[^!/]+![0-9a-f]{4}[^/]*|s[0-9a-f]{32}|x[^!/]+![0-9a-f]{32}![^/]*|f")
_INTERNAL: Final = "__oxia/"
_AFTER_ALL: Final = "~" + "/~" * 16
"""After every key that has fewer slashes, in either of Oxia's orders."""


async def open_namespace(client: OxiaClient, namespace: str) -> None:
    """Require a namespace of this layout, which is marked if it has no marker; raises `StoreUnusable`."""
    shard = await client.shard_of(MARKER)
    (found,) = await client.read(shard, [MARKER])
    if found.value is None:
        for number in await client.shards():
            await _require_own(client, number, namespace)
        put = api.PutRequest(
            key=MARKER, value=b"%d" % FORMAT, expected_version_id=NO_VERSION, partition_key=MARKER
        )
        await client.write(shard, api.WriteRequest(puts=[put]))  # has no effect if another process was first
        (found,) = await client.read(shard, [MARKER])
    if found.value != b"%d" % FORMAT:
        written = (found.value or b"?").decode(errors="replace")
        raise StoreUnusable(
            f"the keys in the namespace {namespace} of Oxia have format {written}, this build of Dray reads "
            f"{FORMAT} only: use the Dray that wrote them"
        )


async def _require_own(client: OxiaClient, shard: int, namespace: str) -> None:
    first: list[Stored] = []

    def take(stored: Stored) -> bool:
        if not stored.key.startswith(_INTERNAL):
            first.append(stored)
        return not first

    await client.scan(shard, "", _AFTER_ALL, take)
    for stored in first:
        if not _is_own(stored):
            raise StoreUnusable(
                f"the namespace {namespace} of Oxia holds keys of another application ({stored.key!r}); "
                "choose another namespace in metadata.url"
            )


def _is_own(stored: Stored) -> bool:
    if not _OWN.fullmatch(stored.key):
        return False
    if stored.key.startswith("h"):
        try:
            decode_head(stored.value or b"")
        except StoreUnusable:
            return False
    return True
