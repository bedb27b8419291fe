"""`dray consume` as a process: signals and closed pipes."""

import fcntl
import signal
import struct
import subprocess
import termios
from typing import IO

import pytest

from dray.testing.broker import EmbeddedBroker
from tests.cli.invoking import invoke_ok, new_topic, start

pytestmark = pytest.mark.slow

WAIT_S = 60


def line_of(running: "subprocess.Popen[bytes]") -> bytes:
    assert running.stdout is not None
    return running.stdout.readline()


def test_consume_follows_until_ctrl_c(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    with start("consume", topic, kafka=kafka) as running:
        for value in (b"first", b"second"):
            invoke_ok("produce", topic, "-q", stdin=value, kafka=kafka)
            assert line_of(running) == value + b"\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WAIT_S)
    assert (running.returncode, out, err) == (0, b"", b"")


def test_sigterm_ends_consume_cleanly(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    invoke_ok("produce", topic, "-q", stdin=b"x\n", kafka=kafka)
    with start("consume", topic, "--stats", kafka=kafka) as running:
        assert line_of(running) == b"x\n"
        running.terminate()
        _, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 0
    assert b"read 1 record," in err


def test_closed_pipe_ends_consume(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    invoke_ok("produce", topic, "-q", stdin=b"".join(b"%0200d\n" % n for n in range(3000)), kafka=kafka)
    with start("consume", topic, kafka=kafka) as running:
        assert line_of(running) == b"%0200d\n" % 0
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(WAIT_S) == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""


def test_closed_pipe_ends_consume_while_idle(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    invoke_ok("produce", topic, "-q", stdin=b"only\n", kafka=kafka)
    with start("consume", topic, kafka=kafka) as running:
        assert line_of(running) == b"only\n"
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(WAIT_S) == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""


def waiting_bytes(pipe: IO[bytes]) -> int:
    (size,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return int(size)


def test_second_ctrl_c_interrupts_a_blocked_write(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    invoke_ok("produce", topic, "-q", stdin=b"".join(b"%0200d\n" % n for n in range(3000)), kafka=kafka)
    with start("consume", topic, kafka=kafka) as running:
        assert running.stdout is not None
        while waiting_bytes(running.stdout) < 60_000:  # the pipe fills up
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.0)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 1
        assert running.stderr is not None
        assert running.stderr.read().strip() == b"dray: interrupted"
