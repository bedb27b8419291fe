"""Where records go."""

from dray.cli.client.partitioner import Partitioner, murmur2, partition_of_key


def test_murmur2_is_kafkas() -> None:
    # What Kafka's own tests expect, as signed numbers.
    expected = {
        b"21": -973932308,
        b"foobar": -790332482,
        b"a-little-bit-long-string": -985981536,
        b"a-little-bit-longer-string": -1486304829,
        b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
        b"abc": 479470107,
    }
    for key, signed in expected.items():
        assert murmur2(key) == signed % 2**32
    assert partition_of_key(b"foobar", 2**31) == -790332482 % 2**31


def test_records_without_a_key_move_on_when_their_batch_closes() -> None:
    partitioner = Partitioner(3, first=1)
    assert [partitioner.place(None), partitioner.place(None)] == [1, 1]
    partitioner.batch_closed(0)
    assert partitioner.place(None) == 1
    partitioner.batch_closed(1)
    assert partitioner.place(None) == 2
    partitioner.batch_closed(2)
    assert partitioner.place(None) == 0
    assert partitioner.place(b"foobar") == partition_of_key(b"foobar", 3)
