"""Whatever is written, merged, waited for and cleaned, in whatever order: what Kafka would keep stays."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.pipeline.settings import CompactionSettings
from tests.log.builders import ONE, OpenLog, Rig, simulate
from tests.pipeline.cleaning import RETENTION_S, Cleaning, Row, write

KEYS = "abcd"


@dataclass
class Model:
    """Kafka's cleaner, a record at a time: see `shouldRetainRecord` and `filterTo` there."""

    rows: list[Row] = field(default_factory=list)
    horizons: dict[int, int] = field(default_factory=dict)
    """Until when each tombstone that was cleaned once is kept."""
    cleaned: int = 0

    def clean(self, end: int, now_ms: int) -> None:
        dirty = [row for row in self.rows if self.cleaned <= row.offset < end]
        last = {row.key: row.offset for row in dirty}
        self.rows = [row for row in self.rows if row.offset >= end or self._stays(row, last, now_ms)]
        for row in self.rows:
            if row.value is None and row.offset < end:
                self.horizons.setdefault(row.offset, now_ms + RETENTION_S * 1000)
        self.cleaned = end

    def _stays(self, row: Row, last: dict[bytes | None, int], now_ms: int) -> bool:
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
    st.tuples(st.just("clean"), st.tuples(st.integers(1, 6), st.integers(1, 4))),
    st.tuples(st.just("wait"), st.sampled_from([1, RETENTION_S // 2, RETENTION_S])),
    st.tuples(st.just("trim"), st.integers(1, 3)),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=4, max_size=25), st.booleans())
def test_what_stays_is_what_kafka_would_keep(steps: list[tuple[str, object]], keep_order: bool) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open()
        cleaning, model = Cleaning(rig), Model()
        for kind, what in [("write", "a1"), ("file", 0), *steps, ("file", 0), ("clean", (100, 100))]:
            await _step(kind, what, opened, cleaning, model)
        assert await cleaning.stream_rows() == model.rows
        start = (await rig.head()).log_start  # what lies before it leaves the table in its own time
        tabled = [row for row in cleaning.table_rows() if row.offset >= start]
        assert tabled == [row for row in model.rows if row.offset < model.cleaned]

    simulate(body, shuffle=not keep_order)


async def _step(kind: str, what: object, opened: OpenLog, cleaning: Cleaning, model: Model) -> None:
    rig = cleaning.rig
    match kind:
        case "write":
            assert isinstance(what, str)
            start = (await rig.head()).high_watermark
            await write(opened, what)
            model.rows += [_row(start + number, word) for number, word in enumerate(what.split())]
        case "file":
            await cleaning.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))
        case "merge":
            await cleaning.run(settings=CompactionSettings(wal_age_ms_max=1 << 40, merge_files_min=2))
        case "wait":
            assert isinstance(what, int)
            await rig.settle(what)
        case "trim":
            assert isinstance(what, int)
            start = min((await rig.head()).log_start + what, (await rig.head()).high_watermark)
            await opened.log.trim(ONE, start)
            model.rows = [row for row in model.rows if row.offset >= start]
        case "clean":
            assert isinstance(what, tuple)
            keys_max, files_max = what
            await _clean(keys_max, files_max, cleaning, model)


async def _clean(keys_max: int, files_max: int, cleaning: Cleaning, model: Model) -> None:
    """Clean in passes until there is nothing left to clean."""
    chosen = CompactionSettings(clean_keys_max=keys_max, clean_files_max=files_max)
    while True:
        now_ms = cleaning.rig.clock.now_ms()
        cleaning.performed.clear()
        await cleaning.clean(settings=chosen)
        while (await cleaning.cleaned()).under_way is not None:
            await cleaning.clean(settings=chosen)
        end = (await cleaning.cleaned()).end_offset
        if not cleaning.performed and end == model.cleaned:
            return
        model.clean(end, now_ms)
        assert await cleaning.stream_rows() == model.rows


def _row(offset: int, word: str) -> Row:
    key, value = (None if letter == "-" else letter.encode() for letter in word)
    return Row(offset, key, value)
