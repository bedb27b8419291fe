"""Table names: legal everywhere, and no two topics share one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.objects.paths import check_path
from dray.tables.names import is_topics_folder, spare_folder, table_folder, table_name, topic_of

TOPICS = st.text("abxzAX0259._-", min_size=1, max_size=24) | st.from_regex(
    r"[a-z_.]?(_x[0-9a-f]{1,3}_?){1,4}\.?", fullmatch=True
)


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("orders", "orders"),
        ("my_topic", "my_topic"),
        ("__consumer_offsets", "__consumer_offsets"),
        ("web.clicks-eu", "web_x2e_clicks_x2d_eu"),
        ("Orders", "_x4f_rders"),
        ("2026", "_x32_026"),
        ("a_x2e_b", "a_x5f_x2e_b"),
        ("a_x2e", "a_x2e"),
    ],
)
def test_topic_has_a_known_table_name(topic: str, name: str) -> None:
    assert table_name(topic) == name
    assert topic_of(name) == topic


@given(TOPICS)
def test_table_name_is_legal_and_reversible(topic: str) -> None:
    name = table_name(topic)
    assert re.fullmatch(r"[a-z_][a-z0-9_]*", name)
    assert topic_of(name) == topic


@pytest.mark.parametrize("name", ["Orders", "web.clicks", "9lives", "a_x61_", "a_x5f_b", "", "a_x2f_b", "ä"])
def test_invalid_table_names_are_rejected(name: str) -> None:
    assert topic_of(name) is None


@pytest.mark.parametrize("topic", ["", "a/b", "a b", "ä", "x" * 250])
def test_invalid_topic_names_are_rejected(topic: str) -> None:
    with pytest.raises(ValueError, match="is not a topic name"):
        table_name(topic)


@pytest.mark.parametrize("topic", ["orders", "a.b-c", "x" * 249])
def test_folders_are_legal_and_their_topics_own(topic: str) -> None:
    for folder in (table_folder(topic), spare_folder(topic, "0123456789abcdef")):
        check_path(folder)
        assert is_topics_folder(folder, topic)
        assert not is_topics_folder(folder, topic[1:])
        assert not is_topics_folder(f"{folder}/below", topic)


@pytest.mark.parametrize(
    "folder",
    ["iceberg/@~/topic=orders", "iceberg/@/topic=orders", "x/iceberg/@01/topic=orders", "topic=orders"],
)
def test_invalid_folders_are_rejected(folder: str) -> None:
    assert not is_topics_folder(folder, "orders")
