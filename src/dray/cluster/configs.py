"""The configs of a topic: validation, and typed access.

A config is stored under its name as the text that the client sent, and read through `TopicConfig`.
"""

from collections.abc import Mapping
from typing import Final

from dray.cluster.config_values import InvalidConfig, Value
from dray.cluster.topic_config_keys import TOPIC_CONFIGS

__all__ = ["TOPIC_CONFIGS", "InvalidConfig", "TopicConfig", "validate_configs"]

VALUE_LENGTH_MAX: Final = 32767


def validate_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    """Validate all configs of a topic as a client sent them, in Kafka's order."""
    given = {name: text for name, text in configs.items() if text is not None}
    if len(given) != len(configs):
        missing = ",".join(name for name, text in configs.items() if text is None)
        raise InvalidConfig(f"Null value not supported for topic configs: {missing}")
    if any(len(text) > VALUE_LENGTH_MAX for text in given.values()):
        raise InvalidConfig(
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{VALUE_LENGTH_MAX} bytes."
        )
    for name in given:
        if name not in TOPIC_CONFIGS:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    for name, text in given.items():
        TOPIC_CONFIGS[name].parse(text)
    _check_together(TopicConfig(given))
    return given


def _check_together(config: "TopicConfig") -> None:
    shortest, longest = config.whole("min.compaction.lag.ms"), config.whole("max.compaction.lag.ms")
    if shortest > longest:
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > "
            f"max.compaction.lag.ms ({longest})"
        )
    if config.value("remote.storage.enable"):
        raise InvalidConfig(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


class TopicConfig:
    """The configs of one topic, with defaults for those that are not set."""

    __slots__ = ("_set",)

    def __init__(self, configs: Mapping[str, str]) -> None:
        self._set = configs

    def text(self, name: str) -> str:
        return self._set.get(name, TOPIC_CONFIGS[name].default)

    def value(self, name: str) -> Value:
        return TOPIC_CONFIGS[name].parse(self.text(name))

    def whole(self, name: str) -> int:
        value = self.value(name)
        assert isinstance(value, int)
        return value

    @property
    def is_compacted(self) -> bool:
        return "compact" in self._policies

    @property
    def is_deleted(self) -> bool:
        """Whether retention deletes records by age and size."""
        return "delete" in self._policies

    @property
    def stamps_append_time(self) -> bool:
        return self.value("message.timestamp.type") == "LogAppendTime"

    @property
    def _policies(self) -> tuple[str, ...]:
        policies = self.value("cleanup.policy")
        assert isinstance(policies, tuple)
        return policies
