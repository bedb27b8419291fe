"""Clock, randomness, task supervision, retries, timers and threads: the only package that owns them."""

from dray.runtime.aio import LoopThread, gather_bounded, hedged
from dray.runtime.background_thread import BackgroundThread
from dray.runtime.byte_budget import ByteBudget
from dray.runtime.clock import Clock, SystemClock
from dray.runtime.entropy import Entropy, SystemEntropy
from dray.runtime.process import LazyModule, sync_directory, tune_interpreter
from dray.runtime.retry import FailedAttempt, RetrySettings, retry
from dray.runtime.tasks import OnFailure, SupervisorStopped, Tasks, log_failure
from dray.runtime.threads import Threads, ThreadsStopped
from dray.runtime.timers import Timers

__all__ = [
    "BackgroundThread",
    "ByteBudget",
    "Clock",
    "Entropy",
    "FailedAttempt",
    "LazyModule",
    "LoopThread",
    "OnFailure",
    "RetrySettings",
    "SupervisorStopped",
    "SystemClock",
    "SystemEntropy",
    "Tasks",
    "Threads",
    "ThreadsStopped",
    "Timers",
    "gather_bounded",
    "hedged",
    "log_failure",
    "retry",
    "sync_directory",
    "tune_interpreter",
]
