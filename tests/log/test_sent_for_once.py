"""A reader that goes on without pause sends for each chunk once, also before the first read has begun."""

from tests.log.builders import ONE, Rig, simulated


@simulated
async def test_chunks_that_were_sent_for_are_not_sent_for_again(rig: Rig) -> None:
    writer = await rig.open()
    for number in range(12):
        await writer.append(f"{number}")
    reader = await rig.open("b", readahead_chunks=3)
    reader.objects.read_seconds = 0.1
    await reader.log.read(ONE, 0, 1)
    await rig.settle(0.2)
    chunks = reader.log._domains[0].reader._chunks
    for offset in (1, 2, 3):  # they are at hand, so nothing else has run between these reads
        await reader.log.read(ONE, offset, 1)
    assert chunks._reading_ahead == 3, "those of offsets 4, 5 and 6"
    await rig.settle(0.2)
    assert len(reader.objects.reads) == len(set(reader.objects.reads)) == 7
    assert chunks._reading_ahead == 0
    assert chunks._sent_for == set()
