"""`dray consume` as a process: signals, and readers that leave."""

import fcntl
import signal
import struct
import subprocess
import termios
from typing import IO

import pytest

from dray.testing.broker import EmbeddedBroker
from tests.cli.calling import good, new_topic, process

pytestmark = pytest.mark.slow

WAIT_S = 60


def line_of(running: "subprocess.Popen[bytes]") -> bytes:
    assert running.stdout is not None
    return running.stdout.readline()


def test_it_follows_and_ctrl_c_ends_it_cleanly(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    with process("consume", topic, kafka=kafka) as running:
        for value in (b"first", b"second"):
            good("produce", topic, "-q", stdin=value, kafka=kafka)
            assert line_of(running) == value + b"\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WAIT_S)
    assert (running.returncode, out, err) == (0, b"", b"")


def test_sigterm_ends_it_cleanly_too(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    good("produce", topic, "-q", stdin=b"x\n", kafka=kafka)
    with process("consume", topic, "--stats", kafka=kafka) as running:
        assert line_of(running) == b"x\n"
        running.terminate()
        _, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 0
    assert b"read 1 record," in err


def test_a_reader_that_leaves_in_the_middle(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    good("produce", topic, "-q", stdin=b"".join(b"%0200d\n" % n for n in range(3000)), kafka=kafka)
    with process("consume", topic, kafka=kafka) as running:
        assert line_of(running) == b"%0200d\n" % 0
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(WAIT_S) == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""


def test_a_reader_that_leaves_while_no_record_comes(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    good("produce", topic, "-q", stdin=b"only\n", kafka=kafka)
    with process("consume", topic, kafka=kafka) as running:
        assert line_of(running) == b"only\n"
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(WAIT_S) == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""


def waiting_bytes(pipe: IO[bytes]) -> int:
    (size,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return int(size)


def test_a_second_ctrl_c_ends_it_even_in_a_write_that_blocks(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    good("produce", topic, "-q", stdin=b"".join(b"%0200d\n" % n for n in range(3000)), kafka=kafka)
    with process("consume", topic, kafka=kafka) as running:
        assert running.stdout is not None
        while waiting_bytes(running.stdout) < 60_000:  # nobody reads: the pipe fills up
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.0)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 1
        assert running.stderr is not None
        assert running.stderr.read().strip() == b"dray: stopped before it was done"
