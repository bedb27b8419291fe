"""How two transcripts are told apart, and how a difference is explained."""

from tests.groups.golden.comparing import contradictions, difference
from tests.groups.golden.differences import Difference

KAFKA = "# two steps\n\na asks X\n  → NONE\n\nb still waits for Y\n\nb asks Z\n  → NONE x=1\n"


def test_the_same_is_no_contradiction() -> None:
    assert not [*contradictions("s", KAFKA, KAFKA)]
    assert difference(KAFKA, KAFKA) == ""


def test_steps_that_differ_are_told_in_pairs() -> None:
    dray = KAFKA.replace("x=1", "x=2")
    (found,) = contradictions("s", KAFKA, dray)
    assert (found.scenario, found.step) == ("s", "b asks Z")
    assert (found.kafka, found.dray) == ("b asks Z\n  → NONE x=1", "b asks Z\n  → NONE x=2")
    assert "-  → NONE x=1\n+  → NONE x=2\n" in str(found)


def test_a_step_that_only_one_has_does_not_shift_the_others() -> None:
    (found,) = contradictions("s", KAFKA, KAFKA.replace("b still waits for Y\n\n", ""))
    assert (found.step, found.dray) == ("b still waits for Y", "")
    (found,) = contradictions("s", KAFKA.replace("b still waits for Y\n\n", ""), KAFKA)
    assert (found.step, found.kafka) == ("b still waits for Y", "")


def test_a_difference_explains_the_steps_that_it_names() -> None:
    (found,) = contradictions("s", KAFKA, KAFKA.replace("x=1", "x=2"))
    assert Difference("s: b asks .", "because").explains(found)
    assert not Difference("s: b asks", "because").explains(found)
    assert not Difference("t: .*", "because").explains(found)
    assert Difference("s: .*", "because", kafka="NONE x").explains(found)
    assert not Difference("s: .*", "because", kafka="SOME x").explains(found)
    assert not Difference("s: .*", "because", in_words=True).explains(found)


def test_words_may_differ_but_not_whether_there_are_any() -> None:
    kafka = "a asks X\n  → BAD\n    says: so"
    (found,) = contradictions("s", kafka, kafka.replace("so", "such"))
    assert Difference(".*", "words", in_words=True).explains(found)
    (found,) = contradictions("s", kafka, kafka.replace("\n    says: so", ""))
    assert not Difference(".*", "words", in_words=True).explains(found)
