"""Kafka Streams, as it comes: an application that counts words, killed in between."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.conftest import Programmes
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
def application(bootstrap: str, programmes: Programmes, topic: str, tmp_path: Path) -> Iterator[WordCount]:
    for name in (f"{topic}-lines", f"{topic}-counts"):
        programmes["librdkafka"].create_topic(name, 3)
    application = WordCount(bootstrap, f"{topic}-app", f"{topic}-lines", f"{topic}-counts", tmp_path)
    try:
        yield application
    finally:
        application.close()


def test_words_are_counted_and_counted_on(
    application: WordCount, outside: Outside, programmes: Programmes, topic: str
) -> None:
    """Lines that come while the application is dead are counted on top of what its changelog says."""
    source, sink = f"{topic}-lines", f"{topic}-counts"
    words, changelog = f"{application.name}-words-repartition", f"{application.name}-counts-changelog"
    programmes["librdkafka"].produce(source, lines(LINES[:400]))
    application.start()
    outside.await_processed(application.name, source)
    outside.await_processed(application.name, words)
    assert outside.counts(sink) == counted(LINES[:400])
    assert outside.topics(application.name) == {words, changelog}
    assert outside.config(changelog, "cleanup.policy") == "compact"
    outside.await_purged(words)

    application.kill()
    programmes["librdkafka"].produce(source, lines(LINES[400:]))
    application.start()
    outside.await_processed(application.name, source)
    outside.await_processed(application.name, words)
    assert outside.counts(sink) == counted(LINES)


def lines(texts: tuple[str, ...]) -> list[Record]:
    return [Record(value=text.encode(), partition=number % 3) for number, text in enumerate(texts)]


def counted(texts: tuple[str, ...]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())
