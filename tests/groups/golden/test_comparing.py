"""Comparison of transcripts, and known differences."""

from tests.groups.golden.comparing import contradictions, difference
from tests.groups.golden.differences import KnownDifference

KAFKA = "# two steps\n\na asks X\n  → NONE\n\nb still waits for Y\n\nb asks Z\n  → NONE x=1\n"


def test_equal_transcripts_have_no_contradictions() -> None:
    assert not [*contradictions("s", KAFKA, KAFKA)]
    assert difference(KAFKA, KAFKA) == ""


def test_differing_steps_are_paired() -> None:
    dray = KAFKA.replace("x=1", "x=2")
    (found,) = contradictions("s", KAFKA, dray)
    assert (found.scenario, found.step) == ("s", "b asks Z")
    assert (found.kafka, found.dray) == ("b asks Z\n  → NONE x=1", "b asks Z\n  → NONE x=2")
    assert "-  → NONE x=1\n+  → NONE x=2\n" in str(found)


def test_additional_step_does_not_shift_the_others() -> None:
    (found,) = contradictions("s", KAFKA, KAFKA.replace("b still waits for Y\n\n", ""))
    assert (found.step, found.dray) == ("b still waits for Y", "")
    (found,) = contradictions("s", KAFKA.replace("b still waits for Y\n\n", ""), KAFKA)
    assert (found.step, found.kafka) == ("b still waits for Y", "")


def test_known_difference_explains_the_steps_it_names() -> None:
    (found,) = contradictions("s", KAFKA, KAFKA.replace("x=1", "x=2"))
    assert KnownDifference("s: b asks .", "because").explains(found)
    assert not KnownDifference("s: b asks", "because").explains(found)
    assert not KnownDifference("t: .*", "because").explains(found)
    assert KnownDifference("s: .*", "because", kafka="NONE x").explains(found)
    assert not KnownDifference("s: .*", "because", kafka="SOME x").explains(found)
    assert not KnownDifference("s: .*", "because", only_wording=True).explains(found)


def test_wording_of_messages_may_differ_but_not_their_presence() -> None:
    kafka = "a asks X\n  → BAD\n    says: so"
    (found,) = contradictions("s", kafka, kafka.replace("so", "such"))
    assert KnownDifference(".*", "words", only_wording=True).explains(found)
    (found,) = contradictions("s", kafka, kafka.replace("\n    says: so", ""))
    assert not KnownDifference(".*", "words", only_wording=True).explains(found)
