"""Report of the capacity model: rates, latency and cost by throughput, and the effect of each setting."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.bar_chart import Row, chart
from benchmarks.beside_kafka import Outcome
from benchmarks.beside_kafka.rounds import Progress
from benchmarks.capacity import costs
from benchmarks.capacity.costs import Costs, Rates, Workload
from benchmarks.capacity.prices import EXPRESS, MIB, STANDARD, Bucket
from benchmarks.capacity.simulation import Setup, Simulated, simulate
from dray.log import LogSettings

_MILLI = 1000
_COLUMNS = {"brokers": 7, "PUT/s": 8, "MB/PUT": 7, "commit/s": 8, "chunks": 7}
_QUANTILES = {"p50 ms": 7, "p90 ms": 7, "p99 ms": 7, "p99.9": 7}
_RATES_HEAD = " ".join(f"{name:>{width}}" for name, width in {**_COLUMNS, **_QUANTILES}.items())


@dataclass(frozen=True, slots=True)
class Scale:
    """What is simulated; `seconds` is virtual time for each point."""

    loads: Sequence[Workload]
    tuned: Workload
    """The load with which settings are varied."""
    seconds: float


def _loads(partitions: Sequence[int]) -> list[Workload]:
    return [Workload(mb * 1e6, count) for mb in (10, 100, 1000) for count in partitions]


FULL = Scale(_loads([1_000, 10_000, 100_000]), Workload(100e6, 10_000), seconds=5.0)
QUICK = Scale([Workload(10e6, 100)], Workload(10e6, 100), seconds=2.0)


@dataclass(frozen=True, slots=True)
class Point:
    """One workload on one class of bucket, and what came of it."""

    label: str
    work: Workload
    bucket: Bucket
    brokers: int
    simulated: Simulated

    @property
    def rates(self) -> Rates:
        """Return the rates of the whole cluster."""
        one = self.simulated
        return Rates(one.puts * self.brokers, one.commits * self.brokers, one.chunks * self.brokers)

    @property
    def costs(self) -> Costs:
        return costs.dray(self.work, self.bucket, self.rates)

    def milliseconds(self, share: float) -> float:
        return self.simulated.quantile(share) * _MILLI


def run(scale: Scale, *, progress: Progress = print) -> Outcome:
    """Simulate every point; `progress` is called before each."""
    loads = [
        _point(_name(work), work, bucket, scale.seconds, progress)
        for work in scale.loads
        for bucket in (STANDARD, EXPRESS)
    ]
    varied = list(_varied(scale, progress))
    lines = [*_load_lines(loads), "", *_cost_lines(loads), "", *_varied_lines(varied)]
    return Outcome(lines, _plots(loads, varied), missed=0)


def _point(
    label: str,
    work: Workload,
    bucket: Bucket,
    seconds: float,
    progress: Progress,
    *,
    brokers: int | None = None,
    domains: int = 16,
    settings: LogSettings | None = None,
) -> Point:
    count = costs.brokers(work) if brokers is None else brokers
    setup = Setup(
        work.bytes_per_s / count,
        max(1, work.partitions // count),
        work.batch_bytes,
        bucket,
        domains,
        settings or LogSettings(),
    )
    progress(f"simulating {label}, {bucket.name}")
    return Point(label, work, bucket, count, simulate(setup, seconds=seconds))


def _varied(scale: Scale, progress: Progress) -> Iterator[Point]:
    point = partial(_point, work=scale.tuned, bucket=STANDARD, seconds=scale.seconds, progress=progress)
    yield point("defaults: linger 20 ms, flush 8 MiB, 16 domains")
    for linger in (5, 100, 250, 500):
        yield point(f"linger {linger} ms", settings=LogSettings(linger_ms=linger))
    for size in (1, 32):
        yield point(f"flush {size} MiB", settings=LogSettings(flush_bytes=size * MIB))
    for domains in (1, 4):
        yield point(f"{domains} domain{'s'[: domains > 1]}", domains=domains)
    yield point("4 domains, linger 250 ms", domains=4, settings=LogSettings(linger_ms=250))
    for brokers in (1, 3, 9):
        yield point(f"{brokers} broker{'s'[: brokers > 1]}", brokers=brokers)


def _name(work: Workload) -> str:
    return f"{work.bytes_per_s / 1e6:,.0f} MB/s, {work.partitions:,} partitions"


def _load_lines(points: Sequence[Point]) -> list[str]:
    head = f"{'load':32} {'bucket':20} {_RATES_HEAD}"
    return [head, *[f"{one.label:32} {one.bucket.name:20} {_rates(one)}" for one in points]]


def _rates(one: Point) -> str:
    size = one.simulated.put_bytes / max(one.simulated.puts, 1e-9) / 1e6
    chunks = one.simulated.chunks / max(one.simulated.puts, 1e-9)
    waits = " ".join(f"{one.milliseconds(share):7,.0f}" for share in (0.5, 0.9, 0.99, 0.999))
    return (
        f"{one.brokers:7} {one.rates.puts:8,.0f} {size:7.2f} {one.rates.commits:8,.0f} {chunks:7.1f} {waits}"
    )


def _cost_lines(points: Sequence[Point]) -> list[str]:
    head = f"{'dollars per month':32} {'on':20} {'requests':>9} {'zones':>9} {'storage':>9} {'cores':>9}"
    lines = [f"{head} {'total':>9}"]
    for one in points:
        lines.append(f"{one.label:32} {'Dray, ' + one.bucket.name[:14]:20} {_dollars(one.costs)}")
        if one.bucket is EXPRESS:
            lines.append(f"{one.label:32} {'Kafka, 3 replicas':20} {_dollars(costs.kafka(one.work))}")
    return lines


def _dollars(one: Costs) -> str:
    parts = (one.requests, one.transfer, one.storage, one.processors, one.total)
    return " ".join(f"{part:9,.0f}" for part in parts)


def _varied_lines(points: Sequence[Point]) -> list[str]:
    lines = [
        f"{_name(points[0].work)}, {STANDARD.name}, one setting at a time",
        f"{'setting':50} {_RATES_HEAD} {'PUT $/month':>12}",
    ]
    for one in points:
        puts = one.rates.puts * costs.SECONDS_PER_MONTH * one.bucket.put_each
        lines.append(f"{one.label:50} {_rates(one)} {puts:12,.0f}")
    return lines


def _plots(loads: Sequence[Point], varied: Sequence[Point]) -> dict[str, str]:
    labels = list(dict.fromkeys(one.label for one in loads))
    by_label = {label: [one for one in loads if one.label == label] for label in labels}
    totals = [
        Row(
            label,
            {f"Dray, {one.bucket.name}": [one.costs.total] for one in found}
            | {"Kafka, three replicas": [costs.kafka(found[0].work).total]},
        )
        for label, found in by_label.items()
    ]
    waits = [
        Row(label, {f"p99, {one.bucket.name}": [one.milliseconds(0.99)] for one in found})
        for label, found in by_label.items()
    ]
    tuned = [
        Row(one.label, {"p50": [one.milliseconds(0.5)], "p99": [one.milliseconds(0.99)]}) for one in varied
    ]
    return {
        "capacity-cost.svg": chart("Cost", "$ per month", totals),
        "capacity-latency.svg": chart("Produce latency", "ms", waits),
        "capacity-settings.svg": chart("Produce latency by setting", "ms", tuned),
    }
