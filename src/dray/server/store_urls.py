"""Checks of the store URLs in the settings, before any store is opened."""

from pathlib import Path
from typing import Final

from dray.meta.urls import ETCD, OXIA
from dray.objects.url import parse_storage_url
from dray.server.errors import ConfigurationError, StartupError
from dray.settings import DraySettings, Loaded

MEMORY: Final = "memory:"
"""A store in the memory of one process, which no other process can reach."""
SQLITE: Final = "sqlite:"
GLUE: Final = "glue:"
_KEYS: Final = ("metadata.url", "storage.url")


_NETWORKED_DOMAINS: Final = 16


def domains_of_new_cluster(metadata_url: str) -> int:
    """Return how many meta domains a new cluster gets.

    A networked store commits in several domains at the same time; SQLite has one writer.
    """
    return _NETWORKED_DOMAINS if metadata_url.startswith((ETCD, OXIA)) else 1


def check_named(loaded: Loaded[DraySettings]) -> None:
    """Refuse stores that the user did not name: a default would silently create a new cluster."""
    unnamed = [
        field for field in loaded.schema.fields() if field.path in _KEYS and field.path not in loaded.origins
    ]
    if unnamed:
        raise ConfigurationError(
            "\n".join(
                f"{field.path} is not set; name the cluster's store with {field.flag} or {field.variable}"
                for field in unnamed
            )
        )


def check_shared(settings: DraySettings) -> None:
    """Refuse stores that belong to one process alone."""
    urls = dict(zip(_KEYS, (settings.metadata.url, settings.storage.url), strict=True))
    private = [key for key, url in urls.items() if url == MEMORY]
    if private:
        raise ConfigurationError(
            f"{' and '.join(private)}: {MEMORY} cannot be shared by several brokers; "
            "name a store that can be shared, or run one broker with 'dray up'"
        )


def check_exist(settings: DraySettings) -> None:
    """Refuse stores that do not exist: opening them would create them, empty."""
    check_metadata_exists(settings)
    check_storage_exists(settings)


def check_metadata_exists(settings: DraySettings) -> None:
    url = settings.metadata.url
    if url.startswith((ETCD, OXIA)):
        return  # opening it adds no more than a marker to an empty prefix
    _check_exists(url, url.removeprefix(SQLITE), "--metadata or --data-dir")


def check_storage_exists(settings: DraySettings) -> None:
    url = settings.storage.url
    parsed = parse_storage_url(url)
    if parsed.scheme in ("file", "memory"):
        _check_exists(url, parsed.path, "--storage or --data-dir")


def _check_exists(url: str, path: str, flags: str) -> None:
    if url == MEMORY:
        raise StartupError(f"{url} is in another process's memory; name the cluster's store with {flags}")
    if not Path(path).exists():
        raise StartupError(f"there is nothing at {path}; name the cluster's store with {flags}")
