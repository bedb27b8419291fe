"""One Spark session and the JVM it is in, for as long as a compactor runs. Only one at a time in a process.

Everything that talks to the JVM blocks, so it runs in threads: some for jobs, one for short questions, which
must not wait behind a job. A start that is cancelled kills the JVM, and with it whatever its threads wait
for.

Warts: pyspark keeps its gateway in class attributes, and takes the JVM's address and the workers' Python
from the environment alone. So both are set here for the moment of connecting, and the gateway is forgotten
at the end.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dray.pipeline.spark.java import find_java
from dray.pipeline.spark.jvm import Address, Jvm, SparkFailed
from dray.pipeline.spark.launch import spark_home
from dray.pipeline.spark.master import check_master
from dray.pipeline.spark.own_folder import OwnFolder
from dray.pipeline.spark.settings import SparkSettings
from dray.runtime import Clock, Threads

P = ParamSpec("P")
T = TypeVar("T")

_LOOK_S: Final = 0.05
_JOBS: Final = 4


class SparkHost:
    """Made by `start`; `close` ends the session and the JVM."""

    def __init__(self, session: SparkSession, jvm: Jvm, jobs: Threads, asks: Threads) -> None:
        self.session = session
        self._jvm = jvm
        self._jobs = jobs
        self._asks = asks

    @classmethod
    async def start(cls, settings: SparkSettings, cache: Path, clock: Clock) -> "SparkHost":
        """Start a JVM and a session in it: seconds. Raises `JavaMissing`, `SparkMissing`, `SparkFailed`."""
        jobs, asks = Threads("dray-spark", _JOBS), Threads("dray-spark-asks", 1)
        own, jvm = None, None
        try:
            java = await asks.run(find_java, cache, os.environ)
            await asks.run(check_master, settings)
            own = await asks.run(OwnFolder.make)
            # Not in a thread: were we cancelled meanwhile, nobody would know of the process.
            jvm = Jvm.start(settings, java, home=spark_home(), cache=cache, own=own, given=dict(os.environ))
            while (address := jvm.address()) is None:
                await clock.sleep(_LOOK_S)
            session = await asks.run(_connect, address, jvm)
        except BaseException:
            if jvm is not None:
                jvm.kill()
            elif own is not None:
                own.remove()
            await asks.stop()
            _forget()
            raise
        return cls(session, jvm, jobs, asks)

    @property
    def pid(self) -> int:
        return self._jvm.pid

    @property
    def master(self) -> str:
        return self._jvm.properties["spark.master"]

    @property
    def lost(self) -> bool:
        """Whether the JVM is gone."""
        return self._jvm.ended

    async def is_usable(self) -> bool:
        """Whether JVM and session are there; a master may end the session and leave the JVM."""
        return not self.lost and not await self.ask(_is_stopped, self.session)

    def kill(self) -> None:
        """End the JVM at once; jobs fail. Blocks, for as long as that takes."""
        self._jvm.kill()

    async def run(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a job in a thread."""
        return await self._jobs.run(job, *args, **kwargs)

    async def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask something short in a thread, whatever jobs there are."""
        return await self._asks.run(question, *args, **kwargs)

    async def close(self) -> None:
        """End the session and the JVM; jobs that still run fail."""
        try:
            await self._asks.run(_stop, self.session, self._jvm)
        finally:
            self._jvm.kill()
            await self._jobs.stop()
            await self._asks.stop()
            _forget()


def _connect(address: Address, jvm: Jvm) -> SparkSession:
    told = {
        "PYSPARK_GATEWAY_PORT": str(address.port),
        "PYSPARK_GATEWAY_SECRET": address.secret,
        "PYSPARK_PYTHON": jvm.python,
    }
    try:
        with _environment(told):
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
            conf = SparkConf(loadDefaults=False)
            conf.setAll(list(jvm.properties.items()))
            context = SparkContext(gateway=gateway, conf=conf)
            # Accumulators are not used, and their server would tell by a traceback that the JVM has ended.
            context._accumulatorServer.handle_error = _ignore_error  # type: ignore[method-assign,assignment]  # noqa: SLF001
            return SparkSession(context)
    except (Py4JError, OSError) as error:
        first = str(error).strip().splitlines()[0]
        what = f"Spark did not start with spark.master={jvm.properties['spark.master']}: {first}"
        raise SparkFailed(jvm.explain(what)) from error


def _ignore_error(*_: object) -> None: ...


@contextmanager
def _environment(told: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _is_stopped(session: SparkSession) -> bool:
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 - pyspark has no other way
    except (Py4JError, OSError):
        return True


def _stop(session: SparkSession, jvm: Jvm) -> None:
    gateway = session.sparkContext._gateway  # noqa: SLF001 - pyspark has no other way to end its JVM
    try:
        session.stop()
    except (Py4JError, OSError):
        pass  # the JVM is gone already
    finally:
        if gateway is not None:
            gateway.shutdown()
        jvm.end()


def _forget() -> None:
    """Let the next session of this process have a JVM of its own."""
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - as above
    SparkContext._active_spark_context = None  # noqa: SLF001 - as above
