"""Table names in SQL, and the topics they stand for."""

import pytest

from dray.sql.naming import TopicNames
from dray.sql.results import SqlError


def test_topic_is_found_by_its_name_and_its_table() -> None:
    names = TopicNames(["web.clicks", "orders"])
    assert [names.find(name) for name in ("web.clicks", "web_x2e_clicks", "ORDERS", "absent")] == [
        "web.clicks",
        "web.clicks",
        "orders",
        None,
    ]


def test_name_of_a_topic_and_of_another_topics_table_is_refused() -> None:
    names = TopicNames(["web.clicks", "web_x2e_clicks"])
    with pytest.raises(SqlError, match=r'refer to them as web_x5f_x2e_clicks and "web\.clicks"'):
        names.find("web_x2e_clicks")
    assert names.find("web.clicks") == "web.clicks"
    assert names.find("web_x5f_x2e_clicks") == "web_x2e_clicks"


def test_name_that_matches_two_topics_ignoring_case_is_refused() -> None:
    with pytest.raises(SqlError, match="differ only in case"):
        TopicNames(["Orders", "oRders"]).find("orders")


def test_unknown_name_lists_the_topics() -> None:
    topics = ["12-3", "web.clicks", "zebra", "Case.x", "case.X"]
    assert TopicNames(topics).near("nope") == (
        'there are "12-3", _x43_ase_x2e_x, case_x2e__x58_, "web.clicks", zebra'
    )
    assert TopicNames(f"t{number:02}" for number in range(12)).near("nope").endswith("t09 and 2 more")


def test_suggestion_for_a_misspelled_topic_or_table() -> None:
    names = TopicNames(["web.clicks", "a_x2e_b", "a.b"])
    for meant in ("web.click", "web_x2e_click"):
        assert names.near(meant) == 'did you mean "web.clicks"?'
    assert names.near("a_x5f_x2e_bb").startswith("did you mean a_x5f_x2e_b")
