"""The page that says which Kafka APIs are served, made from the table that serves them.

What an API does differently is the text behind "Deviations:" at the head of its module, so the page cannot
say anything else than the code.
"""

import re
from importlib import import_module

from dray.api.dispatch import SERVED, Served
from dray.wire import APIS, Api

_DEVIATIONS = re.compile(r"Deviations: (.*?)(?:\n\n|\Z)", re.DOTALL)
_WORD = re.compile(r"(?<!^)(?=[A-Z])")

_NOT_YET = {
    "groups": "Not yet: consumer groups come next.",
    "transactions": "Not yet: transactions are not served.",
    "security": "Not yet: there is no authentication, and there are no ACLs or quotas.",
    "share": "Not planned: share groups and streams groups.",
    "kafka": "Never: it concerns replicas, controllers or telemetry, which Dray does not have.",
}
_KIND = {
    **dict.fromkeys((8, 9, 11, 12, 13, 14, 15, 16, 42, 47, 68, 69), "groups"),
    **dict.fromkeys((24, 25, 26, 27, 28, 65, 66), "transactions"),
    **dict.fromkeys((17, 29, 30, 31, 36, 38, 39, 40, 41, 48, 49, 50, 51), "security"),
    **dict.fromkeys((76, 77, 78, 79, 88, 89, 90, 91, 92), "share"),
    **dict.fromkeys((34, 45, 55, 57, 64, 71, 72), "kafka"),
}


def as_markdown() -> str:
    """Return the whole page."""
    served = [_served_row(SERVED[key]) for key in sorted(SERVED)]
    rest = [_unserved_row(APIS[key]) for key in sorted(APIS.keys() - SERVED.keys())]
    return "\n".join(
        [
            "# Compatibility",
            "",
            "Made from the code by `make docs`; do not edit it. The reference is Apache Kafka 4.3. What is",
            "not served is not advertised, and whoever asks for it is cut off, as Kafka does it.",
            "",
            "## Served",
            "",
            "| key | API | versions | different from Kafka |",
            "| --- | --- | --- | --- |",
            *served,
            "",
            "## Not served",
            "",
            "| key | API | why |",
            "| --- | --- | --- |",
            *rest,
            "",
        ]
    )


def _served_row(served: Served) -> str:
    versions = f"{served.lowest}–{served.highest}"  # noqa: RUF001 - a range, as people write it
    if served.advertised_lowest is not None:
        versions += f", advertised from {served.advertised_lowest}"
    return f"| {served.api.key} | {served.api.name} | {versions} | {_deviations(served.api)} |"


def _deviations(api: Api) -> str:
    text = import_module(f"dray.api.{_WORD.sub('_', api.name).lower()}").__doc__ or ""
    found = _DEVIATIONS.search(text)
    if found is None:
        return ""
    told = " ".join(found[1].split())
    return told[0].upper() + told[1:]


def _unserved_row(api: Api) -> str:
    return f"| {api.key} | {api.name} | {_NOT_YET[_KIND[api.key]]} |"
