"""Topic configs: Kafka's bounds and messages, formatting of values, and arbitrary invalid text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster.config_values import ConfigType
from dray.cluster.configs import TOPIC_CONFIGS, InvalidConfig, TopicConfig, validate_configs

LONG = "9223372036854775807"
TAKEN = [
    ("retention.ms", "-1", "-1"),
    ("retention.ms", " 5\t", "5"),
    ("retention.ms", "+5", "5"),
    ("retention.ms", "007", "7"),
    ("flush.ms", LONG, LONG),
    ("max.message.bytes", "0", "0"),
    ("max.message.bytes", "2147483647", "2147483647"),
    ("min.cleanable.dirty.ratio", "1", "1.0"),
    ("min.cleanable.dirty.ratio", " .5 ", "0.5"),
    ("min.cleanable.dirty.ratio", "1e-1", "0.1"),
    ("preallocate", "True", "true"),
    ("compression.type", " zstd ", "zstd"),
    ("compression.gzip.level", "-1", "-1"),
    ("compression.gzip.level", "9", "9"),
    ("compression.zstd.level", "-131072", "-131072"),
    ("cleanup.policy", "", ""),
    ("cleanup.policy", "delete,delete", "delete"),
    ("cleanup.policy", " compact , delete ", "compact,delete"),
    ("leader.replication.throttled.replicas", "*", "*"),
    ("leader.replication.throttled.replicas", "0:1 , 2:3", "0:1,2:3"),
    ("follower.replication.throttled.replicas", "", ""),
    ("message.timestamp.type", "LogAppendTime", "LogAppendTime"),
]
NOT_LONG, NOT_INT, NOT_DOUBLE = (f"Not a number of type {kind}" for kind in ("LONG", "INT", "DOUBLE"))
PAIRS = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
THROTTLED = "must be the literal '*' or a list of replicas in the following format:"
REFUSED = [
    ("retention.ms", "-2", "-2", "Value must be at least -1"),
    ("retention.ms", "", "", NOT_LONG),
    ("retention.ms", "1_000", "1_000", NOT_LONG),
    ("retention.ms", " 1.0", " 1.0", NOT_LONG),
    ("retention.ms", f"{LONG}0", f"{LONG}0", NOT_LONG),
    ("max.message.bytes", "2147483648", "2147483648", NOT_INT),
    ("segment.bytes", " 1", "1", "Value must be at least 1048576"),
    ("compression.lz4.level", "18", "18", "Value must be no more than 17"),
    ("compression.gzip.level", "0", "0", "Value must be between 1 and 9 or equal to -1"),
    ("min.cleanable.dirty.ratio", "1.5", "1.5", "Value must be no more than 1"),
    ("min.cleanable.dirty.ratio", "-1", "-1.0", "Value must be at least 0"),
    ("min.cleanable.dirty.ratio", "nan", "nan", NOT_DOUBLE),
    ("preallocate", "yes", "yes", "Expected value to be either true or false"),
    ("message.timestamp.type", "never", "never", "String must be one of: CreateTime, LogAppendTime"),
    ("cleanup.policy", "delete,burn", "burn", "String must be one of: compact, delete"),
    (
        "leader.replication.throttled.replicas",
        "0:1,x",
        "[0:1, x]",
        f"leader.replication.throttled.replicas {THROTTLED} {PAIRS}",
    ),
]


@pytest.mark.parametrize(("name", "text", "shown"), TAKEN)
def test_values_that_kafka_accepts_are_accepted_and_formatted_like_kafka(
    name: str, text: str, shown: str
) -> None:
    assert validate_configs({name: text}) == {name: text}
    assert TOPIC_CONFIGS[name].shown(text) == shown
    assert TOPIC_CONFIGS[name].shown(shown) == shown


@pytest.mark.parametrize(("name", "text", "shown", "why"), REFUSED)
def test_values_that_kafka_refuses_are_refused_with_its_message(
    name: str, text: str, shown: str, why: str
) -> None:
    assert refusal({name: text}) == f"Invalid value {shown} for configuration {name}: {why}"


def test_list_with_an_empty_item_is_refused() -> None:
    for text in ("delete,", ",", "delete,,compact"):
        assert refusal({"cleanup.policy": text}) == "Configuration 'cleanup.policy' values must not be empty."


def test_names_are_validated_before_values() -> None:
    assert refusal({"retention.ms": "x", "no.such": "1"}) == "Unknown topic config name: no.such"


def refusal(configs: dict[str, str | None]) -> str | None:
    """Return the error for these configs."""
    try:
        validate_configs(configs)
    except InvalidConfig as refused:
        return str(refused)
    return None


def test_every_default_is_valid_and_canonical() -> None:
    assert validate_configs({name: key.default for name, key in TOPIC_CONFIGS.items()})
    assert {name: key.shown(key.default) for name, key in TOPIC_CONFIGS.items()} == {
        name: key.default for name, key in TOPIC_CONFIGS.items()
    }
    assert list(TOPIC_CONFIGS) == sorted(TOPIC_CONFIGS)


def test_null_values_are_reported_together() -> None:
    with pytest.raises(InvalidConfig, match=r"^Null value not supported for topic configs: b,c$"):
        validate_configs({"retention.ms": "1", "b": None, "c": None})


def test_contradicting_configs_are_refused() -> None:
    with pytest.raises(
        InvalidConfig, match=r"min\.compaction\.lag\.ms \(7\) > max\.compaction\.lag\.ms \(6\)"
    ):
        validate_configs({"min.compaction.lag.ms": "7", "max.compaction.lag.ms": "6"})
    assert validate_configs({"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "6"})
    with pytest.raises(InvalidConfig, match="Tiered Storage functionality is disabled"):
        validate_configs({"remote.storage.enable": "TRUE"})


def test_values_have_the_length_limit_of_kafka() -> None:
    name = "leader.replication.throttled.replicas"
    assert refusal({name: "1:" + "2" * 32765}) is None
    assert refusal({name: "1:" + "2" * 32766}) == (
        "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."
    )


def test_unset_configs_have_defaults() -> None:
    config = TopicConfig({"cleanup.policy": " compact, delete", "message.timestamp.type": " LogAppendTime"})
    assert (config.is_compacted, config.is_deleted, config.stamps_append_time) == (True, True, True)
    assert (config.whole("retention.ms"), config.text("compression.type")) == (604_800_000, "producer")
    empty = TopicConfig({})
    assert (empty.is_compacted, empty.is_deleted, empty.stamps_append_time) == (False, True, False)


rubbish = st.text() | st.text("0123456789+-_.,:*eE \t\n\0٣truefalsdcomp", max_size=30)


@given(st.dictionaries(st.sampled_from(sorted(TOPIC_CONFIGS)) | st.text(), rubbish | st.none(), max_size=4))
def test_any_text_is_refused_or_round_trips(configs: dict[str, str | None]) -> None:
    if refusal(configs) is not None:
        return
    taken = validate_configs(configs)
    config = TopicConfig(taken)
    assert taken == configs
    assert isinstance(config.is_compacted, bool)
    for name in taken:
        key = TOPIC_CONFIGS[name]
        assert key.parse(key.shown(taken[name])) == config.value(name)
        if key.type in (ConfigType.INT, ConfigType.LONG):
            assert config.whole(name) == int(key.shown(taken[name]))


@given(st.integers(-(2**70), 2**70))
def test_integers_are_accepted_exactly_within_their_bounds(number: int) -> None:
    for name, low, high in (("retention.ms", -1, 2**63 - 1), ("segment.bytes", 1 << 20, 2**31 - 1)):
        try:
            validate_configs({name: str(number)})
        except InvalidConfig:
            assert not low <= number <= high
        else:
            assert low <= number <= high
