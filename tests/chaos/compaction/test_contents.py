"""Record contents: derived from the name, which is recognized only if every part is unchanged."""

from tests.chaos.compaction.contents import content_of, name_of

NAMES = [f"zstd/{number % 3}/{number}" for number in range(500)]


def test_every_record_is_recognized() -> None:
    for name in NAMES:
        assert name_of(content_of(name)) == name


def test_all_shapes_occur() -> None:
    made = [content_of(name) for name in NAMES]
    assert {(one.key is None, one.value is None) for one in made} == {
        (left, right) for left in (True, False) for right in (True, False)
    }
    assert any(one.key == b"" for one in made)
    assert any(len({key for key, _ in one.headers}) < len(one.headers) for one in made)
    assert any(value is None for one in made for _, value in one.headers)


def test_changed_record_is_corrupt() -> None:
    for name in NAMES[:50]:
        record = content_of(name)
        changes = (
            record._replace(key=b"other"),
            record._replace(value=b"other"),
            record._replace(headers=(*record.headers, ("more", b""))),
            record._replace(timestamp_ms=record.timestamp_ms + 1),
        )
        for changed in changes:
            assert name_of(changed).startswith("corrupt")
