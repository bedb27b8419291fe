"""`dray produce` as a process: files, pipes and signals."""

import os
import pty
import signal
from pathlib import Path

from dray.testing.broker import EmbeddedBroker
from tests.cli import librdkafka
from tests.cli.invoking import invoke_ok, new_topic, start

WAIT_S = 60


def test_ctrl_c_sends_the_lines_read_so_far(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    # Each record is a batch of its own, which is sent at once despite the linger of ten minutes.
    with start("produce", topic, "--batch-bytes=1", "--linger-ms=600000", kafka=kafka) as running:
        assert running.stdin is not None
        running.stdin.write(b"pushed out\nwaiting\n")
        running.stdin.flush()
        assert invoke_ok("consume", topic, "--max=1", kafka=kafka).out == b"pushed out\n"
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 0
    assert err.startswith(b"sent 2 records, 17 bytes in ")
    assert [one.value for one in librdkafka.read(kafka, topic, 2)] == [b"pushed out", b"waiting"]


def test_lines_are_sent_as_they_arrive(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    with start("produce", topic, "-q", kafka=kafka) as running:
        assert running.stdin is not None
        for number, value in enumerate([b"one", b"two"]):
            running.stdin.write(value + b"\n")
            running.stdin.flush()
            shown = invoke_ok("consume", topic, "--from", str(number), "--max=1", kafka=kafka)
            assert shown.out == value + b"\n"
        running.communicate(timeout=WAIT_S)
    assert running.returncode == 0


def test_progress_on_a_terminal_overwrites_one_line(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    ours, theirs = pty.openpty()
    try:
        with start("produce", topic, kafka=kafka, stderr=theirs) as running:
            running.communicate(b"x\n", timeout=WAIT_S)
        assert os.read(ours, 1000).startswith(b"\r\x1b[Ksent 1 record, 1 byte in ")
    finally:
        os.close(ours)
        os.close(theirs)


def test_file_input_is_sent_completely(kafka: EmbeddedBroker, tmp_path: Path) -> None:
    topic = new_topic(kafka)
    file = tmp_path / "lines"
    lines = [b"%d" % number * 10 for number in range(5000)]
    file.write_bytes(b"\n".join(lines))
    with file.open("rb") as stdin, start("produce", topic, kafka=kafka, stdin=stdin.fileno()) as running:
        _, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 0, err
    assert invoke_ok("consume", topic, "--no-follow", kafka=kafka).out.splitlines() == lines
