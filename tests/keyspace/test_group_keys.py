"""Keys of groups and committed offsets, for arbitrary names."""

import pytest

from dray.keyspace import (
    all_offsets_range,
    group_key,
    group_of,
    group_of_offset,
    offset_key,
    offsets_range,
    partition_of,
)


def test_any_group_name_makes_a_key() -> None:
    for name in ("", "g", "a/b", "%", "%25", "~", "ü n i", "x" * 300, "\x00", "/"):
        key = group_key(name)
        assert group_of(key) == name
        assert key.count("/") == group_key("g").count("/")
        assert partition_of(offset_key(name, "t.o-p_ic", 12)) == ("t.o-p_ic", 12)
        assert group_of_offset(offset_key(name, "t.o-p_ic", 12)) == name


@pytest.mark.parametrize("name", ["", "-g", ".g", "0g", "_g", "g", "~", "%", "\x7f", "ü"])
def test_scan_of_all_offsets_covers_every_group(name: str) -> None:
    start, end = all_offsets_range()
    key = offset_key(name, "-t", 0)
    assert start < key < end
    assert start.count("/") == end.count("/") == key.count("/")


@pytest.mark.parametrize("topic", ["-x", ".x", "0x", "_x", "Zx", "zx"])
def test_scan_of_a_group_covers_every_topic(topic: str) -> None:
    start, end = offsets_range("g")
    assert start < offset_key("g", topic, 0) < end
    start, end = offsets_range("g", topic)
    assert start < offset_key("g", topic, 0) < end
    assert not start < offset_key("g", f"{topic}-", 0) < end
