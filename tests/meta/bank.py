"""A bank whose history shows whether transfers between accounts were atomic and happened once.

Each transfer moves money between two accounts and writes a receipt with a unique name; the receipt of an
earlier transfer is deleted, so that names come and go. `/done` lists all receipts, also those of transfers
whose client does not know the outcome.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from dray.ids import Domain
from dray.meta.port import (
    ABSENT,
    Check,
    Delete,
    Entry,
    MetaStore,
    OutcomeUnknown,
    Put,
    Unavailable,
    Versions,
    Write,
)
from dray.testing.entropy import SeededEntropy

ACCOUNTS = 6
OPENING = 100


@dataclass
class History:
    """What the clients of one domain were answered."""

    acknowledged: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    versions: set[tuple[str, int]] = field(default_factory=set)
    scans: int = 0


def _account(number: int) -> str:
    return f"/account/{number}"


def _receipt(name: str) -> str:
    return f"/receipt/{name}"


async def open_accounts(store: MetaStore, domain: Domain) -> None:
    writes = [Put(_account(n), b"%d" % OPENING) for n in range(ACCOUNTS)]
    assert isinstance(await store.commit(domain, [], [*writes, Put("/done", b"")]), Versions)


async def transfer_many(store: MetaStore, domain: Domain, name: str, history: History, times: int) -> None:
    """Make transfers one after the other."""
    entropy = SeededEntropy(f"{domain} {name}")
    for n in range(times):
        receipt = f"{name}-{n:04}"
        if await _transfer(store, domain, receipt, entropy, history):
            history.acknowledged.add(receipt)


async def _transfer(
    store: MetaStore, domain: Domain, receipt: str, entropy: SeededEntropy, history: History
) -> bool:
    """Transfer once, retried after a conflict; return whether it happened for sure."""
    while True:
        debtor, creditor = _two(entropy)
        try:
            found = [await store.get(domain, key) for key in (debtor, creditor, "/done")]
            versions = await store.commit(domain, *_plan(found, receipt))
        except OutcomeUnknown:
            history.unknown.add(receipt)
            return False
        except Unavailable:
            continue
        if isinstance(versions, Versions):
            assigned = set(zip((debtor, creditor), versions.of, strict=False))
            assert not assigned & history.versions, "a version was assigned twice"
            history.versions |= assigned
            return True


def _two(entropy: SeededEntropy) -> tuple[str, str]:
    first = int(entropy.uniform(0, ACCOUNTS - 1e-9))
    other = (first + 1 + int(entropy.uniform(0, ACCOUNTS - 1 - 1e-9))) % ACCOUNTS
    return _account(first), _account(other)


def _plan(found: Sequence[Entry | None], receipt: str) -> tuple[list[Check], list[Write]]:
    """Move one unit, list the receipt in `/done`, and leave the last receipt as a key of its own."""
    debtor, creditor, done = found
    assert debtor is not None
    assert creditor is not None
    assert done is not None
    receipts = done.value.decode().split()
    checks = [Check(entry.key, entry.version) for entry in (debtor, creditor, done)]
    checks.append(Check(_receipt(receipt), ABSENT))
    writes: list[Write] = [
        Put(debtor.key, b"%d" % (int(debtor.value) - 1)),
        Put(creditor.key, b"%d" % (int(creditor.value) + 1)),
        Put("/done", " ".join([*receipts, receipt]).encode()),
        Put(_receipt(receipt), b""),
    ]
    if len(receipts) >= 2:
        writes.append(Delete(_receipt(receipts[-2])))
    return checks, writes


async def audit_until(store: MetaStore, domain: Domain, history: History, done: asyncio.Event) -> None:
    """Scan the accounts again and again: every scan has the same sum."""
    while not done.is_set():
        try:
            await _audit(store, domain)
        except Unavailable:
            continue
        history.scans += 1
        await asyncio.sleep(0)


async def _audit(store: MetaStore, domain: Domain) -> None:
    balances = [int(entry.value) for entry in await store.scan(domain, "/account/", "/account/~")]
    assert sum(balances) == ACCOUNTS * OPENING, balances


async def verify(store: MetaStore, domain: Domain, history: History) -> None:
    """Compare the final state with the history."""
    await _audit(store, domain)
    done = await store.get(domain, "/done")
    assert done is not None
    receipts = done.value.decode().split()
    assert len(receipts) == len(set(receipts)), "a transfer was made twice"
    assert history.acknowledged <= set(receipts) <= history.acknowledged | history.unknown
    present = [entry.key for entry in await store.scan(domain, "/receipt/", "/receipt/~")]
    assert present == sorted(_receipt(name) for name in receipts[-2:])
