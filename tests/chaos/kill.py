"""Kill brokers while producers run: `python -m tests.chaos.kill --times 100 --brokers 2 [--storage s3://…]`."""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.brokers import running_brokers
from tests.chaos.producers import SteadyProducer, make_topic, read_everything
from tests.chaos.rules import violations

_PRODUCERS = 4


def kill_again_and_again(
    times: int, brokers: int, directory: Path, options: Sequence[str] = (), *, seed: int = 1
) -> tuple[int, list[str]]:
    """Kill a broker at random moments, `times` times.

    Returns how many records were acknowledged, and what is wrong.
    """
    chosen = random.Random(seed)
    with running_brokers(brokers, directory, options) as running:
        bootstrap = ",".join(broker.address for broker in running)
        make_topic(bootstrap)
        producers = [SteadyProducer(f"p{number}", bootstrap) for number in range(_PRODUCERS)]
        for producer in producers:
            producer.start()
        for done in range(times):
            time.sleep(chosen.uniform(0.1, 0.8))  # a random moment, not a wait for something
            victim = chosen.choice(running)
            victim.kill()
            victim.start()
            if (done + 1) % 10 == 0:
                print(f"{done + 1}/{times} kills", file=sys.stderr, flush=True)
        told = [producer.finish() for producer in producers]
        found = read_everything(bootstrap)
    return sum(len(one.acknowledged) for one in told), violations(told, found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.kill", description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("options", nargs="*", help="more options of `dray up`, after --")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dray-chaos-") as name:
        acknowledged, wrong = kill_again_and_again(
            chosen.times, chosen.brokers, Path(name) / "data", chosen.options, seed=chosen.seed
        )
    print(f"{acknowledged} records acknowledged, {chosen.times} kills, {len(wrong)} violations")
    print(*wrong[:20], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
