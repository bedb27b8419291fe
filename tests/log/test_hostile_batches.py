"""Batch headers with false counts: they pass validation, and affect only their own batches."""

from dray.records import BatchRules, Record, ValidBatch, encode_batch, validate
from tests.log.builders import ONE, TWO, Rig, outcomes, simulated
from tests.records.builders import with_fields


def _claiming(**fields: int) -> ValidBatch:
    return validate(with_fields(encode_batch([Record(0, 50, None, b"x", ())]), **fields), BatchRules(), 100)


@simulated
async def test_enormous_record_counts_do_not_fail_the_object_they_share(rig: Rig) -> None:
    opened = await rig.open()
    huge = _claiming(last_offset_delta=2**31 - 2, record_count=2**31 - 1)
    promises = [await opened.log.append(ONE, huge) for _ in range(5)]
    assert await outcomes(await opened.send("other", TWO)) == ["0"]
    assert await outcomes(*promises) == [f"{number * (2**31 - 1)}" for number in range(5)]


@simulated
async def test_any_negative_producer_id_means_none(rig: Rig) -> None:
    opened = await rig.open()
    for tag in "xy":
        await opened.append(tag, producer_id=-5)
    assert [tag for *_, tag in await opened.tags()] == ["x", "y"]


@simulated
async def test_lookup_ignores_a_max_timestamp_that_no_record_has(rig: Rig) -> None:
    opened = await rig.open()
    await (await opened.log.append(ONE, _claiming(max_timestamp=90)))
    assert await opened.log.find_time(ONE, 60) is None
    assert await opened.log.find_newest(ONE) == (0, 50)


@simulated
async def test_newest_record_of_a_log_that_starts_inside_a_batch(rig: Rig) -> None:
    opened = await rig.open()
    encoded = encode_batch([Record(0, 9, None, b"x", ()), Record(1, 5, None, b"x", ())])
    await (await opened.log.append(ONE, validate(memoryview(encoded), BatchRules(), 10)))
    await opened.log.trim(ONE, 1)
    assert await opened.log.find_newest(ONE) == (1, 5)
