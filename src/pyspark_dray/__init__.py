"""Spark looks for modules of this kind of name, and takes the `DefaultSource` in them for a data source.

So `format("dray")` works where Dray is installed, and nothing has to be registered.
"""

from dray.cli.spark_source import DefaultSource

__all__ = ["DefaultSource"]
