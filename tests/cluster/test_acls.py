"""ACLs in the metadata store: visible everywhere, changed by several brokers at once, never too open."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dray.acls import (
    AclBinding,
    AclEntry,
    AclFilter,
    Authorizer,
    EntryFilter,
    Operation,
    PatternFilter,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from dray.cluster.acl_admin import AclAdmin, TooManyAcls
from dray.cluster.acls import AclView, StoredAcls, pattern_key
from dray.cluster.settings import SecuritySettings
from dray.ids import Principal
from dray.index import CorruptValue
from dray.keyspace import CLUSTER_DOMAIN, acls_range
from dray.meta.port import CommitLimits, Delete, Put, Unavailable
from tests.cluster.worlds import Client, World, simulated

SETTINGS = SecuritySettings(super_users="User:root")
TOPIC = ResourceType.TOPIC
READ, WRITE = Operation.READ, Operation.WRITE
ORDERS = ResourcePattern(TOPIC, "orders")
ALL = AclFilter()


def binding(
    pattern: ResourcePattern = ORDERS,
    user: str = "a",
    operation: Operation = READ,
    permission: Permission = Permission.ALLOW,
) -> AclBinding:
    return AclBinding(pattern, AclEntry(f"User:{user}", "*", operation, permission))


def of(pattern: ResourcePattern) -> AclFilter:
    return AclFilter(PatternFilter(pattern.resource_type, pattern.name, pattern.pattern_type))


def may(authorizer: Authorizer, user: str, operation: Operation = READ, name: str = "orders") -> bool:
    return authorizer.decide(Principal.user(user), "10.0.0.1", operation, TOPIC, name).allowed


async def opened(world: World, client: Client, settings: SecuritySettings = SETTINGS) -> AclAdmin:
    view = AclView(client.meta, settings, world.clock)
    await view.start(client.tasks)
    return AclAdmin(view, client.meta)


async def stored_keys(client: Client) -> list[str]:
    return [entry.key for entry in await client.meta.scan(CLUSTER_DOMAIN, *acls_range())]


@simulated
async def test_acls_are_visible_here_at_once_and_elsewhere_soon(world: World) -> None:
    here, there = await opened(world, world.client("a")), await opened(world, world.client("b"))
    prefixed = ResourcePattern(TOPIC, "ord/~é", PatternType.PREFIXED)
    created = sorted([binding(), binding(user="b", operation=WRITE), binding(prefixed)])
    assert not may(here.view.authorizer, "a")
    await here.create([*created, created[0]])
    assert here.view.bindings(ALL) == created
    assert may(here.view.authorizer, "a")
    await world.settle()
    assert there.view.bindings(ALL) == created
    assert there.view.bindings(of(prefixed)) == [binding(prefixed)]
    assert may(there.view.authorizer, "a", name="ord/~é!")
    assert not may(there.view.authorizer, "b")
    later = await opened(world, world.client("c"))
    assert later.view.bindings(ALL) == created
    assert may(later.view.authorizer, "b", WRITE)


@simulated
async def test_deleting_returns_what_each_filter_matched(world: World) -> None:
    client = world.client()
    admin = await opened(world, client)
    one, two, three = binding(), binding(user="b"), binding(ResourcePattern(ResourceType.GROUP, "g"))
    await admin.create([one, two, three])
    by_user = AclFilter(entry=EntryFilter(principal="User:a"))
    nothing = AclFilter(entry=EntryFilter(host="10.0.0.1"))
    assert await admin.delete([by_user, of(one.pattern), nothing]) == [[one, three], [one, two], []]
    assert admin.view.bindings(ALL) == []
    assert await stored_keys(client) == []
    assert not may(admin.view.authorizer, "b")
    assert await admin.delete([ALL]) == [[]]


@simulated
async def test_existing_acls_are_not_written_again(world: World) -> None:
    client = world.client()
    admin = await opened(world, client)
    await admin.create([binding()])
    commits = client.link.calls["commit"]
    await admin.create([binding()])
    await admin.create([])
    await admin.delete([of(ResourcePattern(TOPIC, "other"))])
    assert client.link.calls["commit"] == commits
    assert admin.view.bindings(ALL) == [binding()]


@simulated
async def test_brokers_that_change_one_pattern_at_once_lose_nothing(world: World) -> None:
    admins = [await opened(world, world.client(name)) for name in "abc"]
    await admins[0].create([binding(user="old")])
    await asyncio.gather(
        *(admin.create([binding(user=f"{number}")]) for number, admin in enumerate(admins)),
        admins[0].delete([AclFilter(entry=EntryFilter(principal="User:old"))]),
    )
    await world.settle()
    for admin in admins:
        assert admin.view.bindings(ALL) == [binding(user=f"{number}") for number in range(3)]


@simulated
async def test_an_acl_is_deleted_for_one_of_two_brokers(world: World) -> None:
    """Each broker reports what it has deleted itself, also after a conflict."""
    admins = [await opened(world, world.client(name)) for name in "ab"]
    await admins[0].create([binding(user=f"{number}") for number in range(3)])
    deleted = await asyncio.gather(*(admin.delete([ALL]) for admin in admins))
    assert sorted(len(matched) for (matched,) in deleted) == [0, 3]


@simulated
async def test_authorizer_is_the_same_object_until_an_acl_changes(world: World) -> None:
    client = world.client()
    admin = await opened(world, client)
    await admin.create([binding()])
    await world.settle()
    authorizer, calls = admin.view.authorizer, client.link.calls.total()
    assert all(admin.view.authorizer is authorizer for _ in range(10))
    assert client.link.calls.total() == calls
    await admin.create([binding(user="b")])
    assert admin.view.authorizer is not authorizer
    assert not may(authorizer, "b")


@simulated
async def test_last_state_is_kept_while_the_store_is_away(world: World) -> None:
    admin, client = await opened(world, world.client("a")), world.client("b")
    there = await opened(world, client)
    deny = binding(user="b", permission=Permission.DENY)
    await admin.create([binding(), binding(user="b"), deny])
    await world.settle()
    client.link.unavailable = True
    await admin.create([binding(user="c")])
    await world.settle()
    assert may(there.view.authorizer, "a")
    assert not may(there.view.authorizer, "b")
    assert not may(there.view.authorizer, "c")
    with pytest.raises(Unavailable):
        await there.create([binding(user="d")])
    assert len(there.view.bindings(ALL)) == 3
    client.link.unavailable = False
    await world.settle(2)
    assert may(there.view.authorizer, "c")


@simulated
async def test_view_does_not_start_without_the_store(world: World) -> None:
    client = world.client()
    client.link.unavailable = True
    starting = asyncio.ensure_future(opened(world, client))
    await world.settle(5)
    assert not starting.done()
    client.link.unavailable = False
    assert (await starting).view.bindings(ALL) == []


@pytest.mark.parametrize(
    "value",
    [
        b"\xc1",
        msgspec.msgpack.encode(["acl1", [2, "orders", 3], [["User:a", "*", 99, 3]]]),
        msgspec.msgpack.encode(StoredAcls(replace(ORDERS, name="other"), (binding().entry,))),
    ],
    ids=["not an ACL", "operation of a later version", "of another pattern"],
)
def test_value_that_cannot_be_read_denies_everything(value: bytes) -> None:
    @simulated
    async def scenario(world: World) -> None:
        client = world.client()
        admin = await opened(world, client, SecuritySettings(allow_everyone_if_no_acl_found=True))
        await admin.create([binding(ResourcePattern(TOPIC, "*"))])
        await client.meta.commit(CLUSTER_DOMAIN, [], [Put(pattern_key(ORDERS), value)])
        await world.settle()
        assert not may(admin.view.authorizer, "a")
        assert may(admin.view.authorizer, "a", name="other")
        for change in (admin.create([binding()]), admin.delete([of(ORDERS)])):
            with pytest.raises(CorruptValue, match=r"restore the value|found those of"):
                await change
        await client.meta.commit(CLUSTER_DOMAIN, [], [Delete(pattern_key(ORDERS))])
        await world.settle()
        assert may(admin.view.authorizer, "a")

    scenario()


@simulated
async def test_key_that_no_version_writes_is_skipped(world: World) -> None:
    client = world.client()
    await client.meta.commit(CLUSTER_DOMAIN, [], [Put(f"{acls_range()[0]}planet-literal-x", b"x")])
    admin = await opened(world, client)
    await admin.create([binding()])
    assert admin.view.bindings(ALL) == [binding()]


def limited(client: Client, monkeypatch: pytest.MonkeyPatch, **limits: int) -> list[int]:
    """Limit the commits of a client; returns the list of their sizes, which grows."""
    sizes: list[int] = []
    commit = client.meta.commit

    async def counted(domain: Any, checks: Any, writes: Any) -> Any:
        sizes.append(len(writes))
        return await commit(domain, checks, writes)

    allowed = CommitLimits(**{"checks_max": 100, "writes_max": 100, "bytes_max": 10_000, **limits})
    monkeypatch.setattr(type(client.meta), "limits", property(lambda _: allowed))
    monkeypatch.setattr(client.meta, "commit", counted)
    return sizes


def test_request_is_one_commit_if_the_store_accepts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [binding(ResourcePattern(TOPIC, f"t{number:02}")) for number in range(40)]

    @simulated
    async def scenario(world: World) -> None:
        client = world.client()
        admin = await opened(world, client)
        sizes = limited(client, monkeypatch)
        await admin.create(many)
        assert await admin.delete([ALL]) == [many]
        assert sizes == [40, 40]
        sizes = limited(client, monkeypatch, writes_max=16)
        await admin.create(many)
        assert admin.view.bindings(ALL) == many
        assert await admin.delete([ALL]) == [many]
        assert sizes == [16, 16, 8] * 2
        sizes = limited(client, monkeypatch, bytes_max=1_000)
        await admin.create(many)
        assert max(sizes) < 10
        assert await admin.delete([ALL]) == [many]

    scenario()


def test_pattern_with_more_acls_than_a_value_may_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    @simulated
    async def scenario(world: World) -> None:
        client = world.client()
        admin = await opened(world, client)
        limited(client, monkeypatch, bytes_max=500)
        await admin.create([binding(user=f"{number}") for number in range(10)])
        with pytest.raises(TooManyAcls, match="acls/topic-literal-orders would have more ACLs"):
            await admin.create([binding(user=f"more {number}") for number in range(50)])
        assert len(admin.view.bindings(ALL)) == 10

    scenario()


@simulated
async def test_request_may_create_as_many_acls_as_in_kafka(world: World) -> None:
    admin = await opened(world, world.client())
    many = [binding(user=f"{number}") for number in range(10_001)]
    with pytest.raises(TooManyAcls):
        await admin.create(many)
    assert admin.view.bindings(ALL) == []
    await admin.create(many[:1])
    await admin.create(many)  # 10,000 of them are new
    assert len(admin.view.bindings(ALL)) == 10_001


def test_super_users_of_the_settings_must_be_principals() -> None:
    with pytest.raises(ValueError, match="such as User:alice"):
        SecuritySettings(super_users="alice")
