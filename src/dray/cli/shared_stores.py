"""What stores must be like when several processes share them."""

from dray.cli.failure import WrongUse
from dray.cli.settings import DraySettings, Loaded

_MEMORY = "memory:"
_URLS = ("metadata.url", "storage.url")


def check_named(loaded: Loaded[DraySettings]) -> None:
    """Refuse stores that nobody named: a default would quietly begin a cluster of its own."""
    unnamed = [
        field for field in loaded.schema.fields() if field.path in _URLS and field.path not in loaded.origins
    ]
    if unnamed:
        raise WrongUse(
            "\n".join(
                f"{field.path} is not given; name the cluster's own with {field.flag} or {field.variable}"
                for field in unnamed
            )
        )


def check_shared(settings: DraySettings) -> None:
    """Refuse stores that belong to one process alone."""
    urls = dict(zip(_URLS, (settings.metadata.url, settings.storage.url), strict=True))
    alone = [path for path, url in urls.items() if url == _MEMORY]
    if alone:
        raise WrongUse(
            f"{' and '.join(alone)}: {_MEMORY} cannot be shared by several brokers; "
            "name a store that can be, or run one broker with 'dray up'"
        )
