"""A view of a directory: updates, broken watches, and missed changes."""

from dray.cluster.view import Directory, View
from dray.ids import Domain
from dray.index import CorruptValue
from dray.meta.port import Delete, Entry, Put
from tests.cluster.worlds import Client, World, simulated

DOMAIN = Domain("d")
DIRECTORY = Directory(DOMAIN, "/v/", ("/v/", "/v/~"), lambda entry: entry.value.decode())


def view_of(client: Client, world: World) -> View[str]:
    return View(client.meta, DIRECTORY, world.clock)


async def put(client: Client, name: str, value: str) -> None:
    await client.meta.commit(DOMAIN, [], [Put(f"/v/{name}", value.encode())])


async def remove(client: Client, name: str) -> None:
    await client.meta.commit(DOMAIN, [], [Delete(f"/v/{name}")])


def shown(view: View[str]) -> list[str]:
    return sorted(view.values())


@simulated
async def test_view_shows_existing_keys_and_follows_changes(world: World) -> None:
    writer, reader = world.client("w"), world.client("r")
    await put(writer, "a", "old")
    view = view_of(reader, world)
    await view.start(reader.tasks)
    assert shown(view) == ["old"]
    await put(writer, "a", "new")
    await put(writer, "b", "other")
    await world.settle()
    assert (view.get("/v/a"), view.get("/v/b"), view.get("/v/c")) == ("new", "other", None)
    await remove(writer, "a")
    await world.settle()
    assert shown(view) == ["other"]


@simulated
async def test_keys_of_other_directories_are_ignored(world: World) -> None:
    client = world.client()
    view = view_of(client, world)
    await view.start(client.tasks)
    await client.meta.commit(DOMAIN, [], [Put("/vv/a", b"x"), Put("/v/a/b", b"y"), Put("/v/a", b"z")])
    await world.settle()
    assert "x" not in shown(view)
    assert "z" in shown(view)


@simulated
async def test_refresh_shows_the_current_value_at_once(world: World) -> None:
    writer, reader = world.client("w"), world.client("r")
    view = view_of(reader, world)
    await view.start(reader.tasks)
    reader.link.faults = {"changes": "refuse"}
    await put(writer, "a", "1")
    assert await view.refresh("/v/a") == view.get("/v/a") == "1"
    await remove(writer, "a")
    assert await view.refresh("/v/a") is None
    assert view.get("/v/a") is None
    await put(writer, "b", "2")
    await view.refresh_all()
    assert shown(view) == ["2"]


@simulated
async def test_broken_watch_keeps_old_values_and_then_catches_up(world: World) -> None:
    writer, reader = world.client("w"), world.client("r")
    await put(writer, "a", "1")
    view = view_of(reader, world)
    await view.start(reader.tasks)
    reader.link.unavailable = True
    await put(writer, "a", "2")
    await put(writer, "b", "3")
    await world.settle(5)
    assert shown(view) == ["1"]
    reader.link.unavailable = False
    await world.settle(1)
    assert shown(view) == ["2", "3"]


@simulated
async def test_missed_changes_are_read_again(world: World) -> None:
    writer, reader = world.client("w"), world.client("r")
    for name in "abc":
        await put(writer, name, name)
    view = view_of(reader, world)
    await view.start(reader.tasks)
    reader.link.unavailable = True
    await world.settle(1)
    await remove(writer, "a")
    await put(writer, "b", "changed")
    await put(writer, "d", "d")
    world.server.forget_changes()
    reader.link.unavailable = False
    await world.settle(1)
    assert shown(view) == ["c", "changed", "d"]


@simulated
async def test_failed_read_after_a_change_is_repeated(world: World) -> None:
    writer, reader = world.client("w"), world.client("r")
    view = view_of(reader, world)
    await view.start(reader.tasks)
    reader.link.faults = {"get": "refuse", "scan": "refuse"}
    await put(writer, "a", "1")
    await world.settle(2)
    assert shown(view) == []
    reader.link.faults = {}
    await world.settle(1)
    assert shown(view) == ["1"]


@simulated
async def test_corrupt_value_does_not_hide_the_others(world: World) -> None:
    def decode(entry: Entry) -> str:
        if entry.value == b"rubbish":
            raise CorruptValue(f"{entry.key} is rubbish")
        return entry.value.decode()

    writer, reader = world.client("w"), world.client("r")
    await put(writer, "bad", "rubbish")
    view = View(reader.meta, Directory(DOMAIN, "/v/", ("/v/", "/v/~"), decode), world.clock)
    await view.start(reader.tasks)
    await put(writer, "good", "1")
    await put(writer, "worse", "rubbish")
    await put(writer, "better", "2")
    await world.settle(1)
    assert shown(view) == ["1", "2"]
    await put(writer, "good", "rubbish")
    await world.settle(1)
    assert shown(view) == ["2"]


@simulated
async def test_start_waits_for_the_store(world: World) -> None:
    writer, reader = world.client("w"), world.client("r")
    await put(writer, "a", "1")
    reader.link.unavailable = True
    view = view_of(reader, world)
    starting = reader.tasks.start(view.start(reader.tasks), name="start")
    await world.settle(3)
    assert not starting.done()
    reader.link.unavailable = False
    await starting
    assert shown(view) == ["1"]


@simulated
async def test_view_converges_despite_writers_faults_and_gaps(world: World) -> None:
    """Once writes and faults have stopped, the view equals the store."""
    writer, reader = world.client("w"), world.client("r")
    view = view_of(reader, world)
    await view.start(reader.tasks)
    for number in range(120):
        name = f"k{writer.entropy.token(1)[0] % 7}"
        await (remove(writer, name) if number % 3 == 0 else put(writer, name, f"{name} {number}"))
        reader.link.unavailable = writer.entropy.uniform(0, 1) < 0.4
        if writer.entropy.uniform(0, 1) < 0.1:
            world.server.forget_changes()
        await world.clock.sleep(writer.entropy.uniform(0, 0.3))
    reader.link.unavailable = False
    await world.settle(2)
    stored: list[Entry] = await writer.meta.scan(DOMAIN, *DIRECTORY.bounds)
    assert shown(view) == sorted(entry.value.decode() for entry in stored)
    assert stored
