"""Objects as files in a local directory, durable when a put returns."""

from dray.objects.local.store import LocalObjects, LocalSettings

__all__ = ["LocalObjects", "LocalSettings"]
