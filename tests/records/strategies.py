"""Hypothesis strategies for records and batches."""

from hypothesis import strategies as st

from dray.records import Codec, Record

codecs = st.sampled_from(Codec)
timestamps = st.integers(-1, 2**53)
payload_bytes = st.none() | st.binary(max_size=60)
headers = st.lists(st.tuples(st.text(max_size=8), payload_bytes), max_size=4).map(tuple)


@st.composite
def record_lists(
    draw: st.DrawFn, max_size: int = 6, times: st.SearchStrategy[int] = timestamps
) -> list[Record]:
    """At least one record; offsets 0, 1, 2…"""
    drawn = draw(
        st.lists(st.tuples(times, payload_bytes, payload_bytes, headers), min_size=1, max_size=max_size)
    )
    return [Record(offset, *fields) for offset, fields in enumerate(drawn)]
