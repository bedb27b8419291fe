"""The one room that owns clock, randomness, task supervision, retry and timers."""

from dray.runtime.clock import Clock, SystemClock
from dray.runtime.entropy import Entropy, SeededEntropy, SystemEntropy

__all__ = ["Clock", "Entropy", "SeededEntropy", "SystemClock", "SystemEntropy"]
