"""Entry point for Spark, which imports modules named `pyspark_*` and takes `DefaultSource` for a data source.

`format("dray")` therefore works wherever Spark's Python has Dray installed. Where it does not find it, call
`pyspark_dray.register(spark)`.
"""

try:
    from dray.server.spark_source import DefaultSource, register
except ModuleNotFoundError as error:
    missing = f"missing package: {error.name}; install dray[spark]"
    raise ImportError(missing, name=error.name) from None

__all__ = ["DefaultSource", "register"]
