"""Model test of key compaction: any order of operations retains what Kafka's log cleaner retains."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.compaction.settings import CompactionSettings
from tests.compaction.key_compaction import RETENTION_S, KeyCompaction, Row, write
from tests.log.builders import ONE, OpenLog, Rig, simulate

KEYS = "abcd"


@dataclass
class Model:
    """Kafka's log cleaner, one record at a time: see `shouldRetainRecord` and `filterTo` in Kafka."""

    rows: list[Row] = field(default_factory=list)
    horizons: dict[int, int] = field(default_factory=dict)
    """Time until which each tombstone is retained, from its first compaction on."""
    compacted_to: int = 0

    def compact_keys(self, end: int, now_ms: int) -> None:
        dirty = [row for row in self.rows if self.compacted_to <= row.offset < end]
        last = {row.key: row.offset for row in dirty}
        self.rows = [row for row in self.rows if row.offset >= end or self._is_retained(row, last, now_ms)]
        for row in self.rows:
            if row.value is None and row.offset < end:
                self.horizons.setdefault(row.offset, now_ms + RETENTION_S * 1000)
        self.compacted_to = end

    def _is_retained(self, row: Row, last: dict[bytes | None, int], now_ms: int) -> bool:
        if row.key is None or row.offset < last.get(row.key, -1):
            return False
        return row.value is not None or now_ms < self.horizons.get(row.offset, now_ms + 1)


def _words() -> st.SearchStrategy[str]:
    word = st.builds(lambda key, value: key + value, st.sampled_from(f"{KEYS}-"), st.sampled_from("123-"))
    return st.lists(word, min_size=1, max_size=4).map(" ".join)


STEPS = st.one_of(
    st.tuples(st.just("write"), _words()),
    st.tuples(st.just("file"), st.just(0)),
    st.tuples(st.just("merge"), st.just(0)),
    st.tuples(st.just("compact keys"), st.tuples(st.integers(1, 6), st.integers(1, 4))),
    st.tuples(st.just("wait"), st.sampled_from([1, RETENTION_S // 2, RETENTION_S])),
    st.tuples(st.just("trim"), st.integers(1, 3)),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=4, max_size=25), st.booleans())
def test_any_sequence_of_operations_retains_what_kafka_retains(
    steps: list[tuple[str, object]], keep_order: bool
) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open()
        compaction, model = KeyCompaction(rig), Model()
        for kind, what in [("write", "a1"), ("file", 0), *steps, ("file", 0), ("compact keys", (100, 100))]:
            await _step(kind, what, opened, compaction, model)
        assert await compaction.stream_rows() == model.rows
        start = (await rig.head()).log_start  # the table drops earlier rows later
        in_table = [row for row in compaction.table_rows() if row.offset >= start]
        assert in_table == [row for row in model.rows if row.offset < model.compacted_to]

    simulate(body, shuffle=not keep_order)


async def _step(kind: str, what: object, opened: OpenLog, compaction: KeyCompaction, model: Model) -> None:
    rig = compaction.rig
    match kind:
        case "write":
            assert isinstance(what, str)
            start = (await rig.head()).high_watermark
            await write(opened, what)
            model.rows += [_row(start + number, word) for number, word in enumerate(what.split())]
        case "file":
            await compaction.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))
        case "merge":
            await compaction.run(settings=CompactionSettings(wal_age_ms_max=1 << 40, merge_files_min=2))
        case "wait":
            assert isinstance(what, int)
            await rig.settle(what)
        case "trim":
            assert isinstance(what, int)
            start = min((await rig.head()).log_start + what, (await rig.head()).high_watermark)
            await opened.log.trim(ONE, start)
            model.rows = [row for row in model.rows if row.offset >= start]
        case "compact keys":
            assert isinstance(what, tuple)
            keys_max, files_max = what
            await _compact_keys(keys_max, files_max, compaction, model)


async def _compact_keys(keys_max: int, files_max: int, compaction: KeyCompaction, model: Model) -> None:
    """Run cycles until there is nothing left to compact."""
    chosen = CompactionSettings(key_compaction_keys_max=keys_max, key_compaction_files_max=files_max)
    while True:
        now_ms = compaction.rig.clock.now_ms()
        compaction.tasks.clear()
        await compaction.compact_keys(settings=chosen)
        while (await compaction.state()).cycle is not None:
            await compaction.compact_keys(settings=chosen)
        end = (await compaction.state()).end_offset
        if not compaction.tasks and end == model.compacted_to:
            return
        model.compact_keys(end, now_ms)
        assert await compaction.stream_rows() == model.rows


def _row(offset: int, word: str) -> Row:
    key, value = (None if letter == "-" else letter.encode() for letter in word)
    return Row(offset, key, value)
