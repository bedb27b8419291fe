"""Kafka Streams with default settings: an application that counts words and is killed in between."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.conftest import Programs
from tests.clients.outside import Outside
from tests.clients.protocol import Record
from tests.clients.target import needs
from tests.clients.word_count import WordCount

pytestmark = needs("java")
LINES = tuple(f"word{n % 7} word{n % 11} again" for n in range(600))


@pytest.fixture
def outside(bootstrap: str) -> Iterator[Outside]:
    opened = Outside(bootstrap)
    yield opened
    opened.close()


@pytest.fixture
def application(bootstrap: str, programs: Programs, topic: str, tmp_path: Path) -> Iterator[WordCount]:
    for name in (f"{topic}-lines", f"{topic}-counts"):
        programs["librdkafka"].create_topic(name, 3)
    application = WordCount(bootstrap, f"{topic}-app", f"{topic}-lines", f"{topic}-counts", tmp_path)
    try:
        yield application
    finally:
        application.close()


def test_counts_continue_after_a_restart(
    application: WordCount, outside: Outside, programs: Programs, topic: str
) -> None:
    """Lines written while the application is down are added to the counts in its changelog."""
    source, sink = f"{topic}-lines", f"{topic}-counts"
    words, changelog = f"{application.name}-words-repartition", f"{application.name}-counts-changelog"
    programs["librdkafka"].produce(source, lines(LINES[:400]))
    application.start()
    outside.await_processed(application.name, source)
    outside.await_processed(application.name, words)
    assert outside.counts(sink) == counted(LINES[:400])
    assert outside.topics(application.name) == {words, changelog}
    assert outside.config(changelog, "cleanup.policy") == "compact"
    outside.await_purged(words)

    application.kill()
    programs["librdkafka"].produce(source, lines(LINES[400:]))
    application.start()
    outside.await_processed(application.name, source)
    outside.await_processed(application.name, words)
    assert outside.counts(sink) == counted(LINES)


def lines(texts: tuple[str, ...]) -> list[Record]:
    return [Record(value=text.encode(), partition=number % 3) for number, text in enumerate(texts)]


def counted(texts: tuple[str, ...]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())
