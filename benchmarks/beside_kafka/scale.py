"""Size of a run, the same for both servers; a full run takes less than ten minutes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes and times of one run.

    `rounds` are counted, the `warm_ups` before them are not. `settle_s` is how long a server is left idle
    before its memory is read.
    """

    rounds: int
    warm_ups: int
    large_records: int
    """Of 1 KiB, for each load."""
    small_records: int
    """Of 100 bytes, for each load."""
    rate: int
    paced_seconds: float
    settle_s: float

    @property
    def paced_records(self) -> int:
        return int(self.rate * self.paced_seconds)


FULL = Scale(
    rounds=5,
    warm_ups=1,
    large_records=400_000,
    small_records=2_000_000,
    rate=1_000,
    paced_seconds=5.0,
    settle_s=3.0,
)
QUICK = Scale(
    rounds=1,
    warm_ups=0,
    large_records=50_000,
    small_records=200_000,
    rate=1_000,
    paced_seconds=2.0,
    settle_s=1.0,
)
