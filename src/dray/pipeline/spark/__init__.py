"""Rewriting spans with Spark: the Java it runs on, the JVM and its session, the job, and what a worker does.

The driver side is `job`, over `session`, `jvm`, `launch` and `java`. `daemon`, `worker`, `blocking` and
`read_ahead` run in Spark's Python workers, on whatever machine they are.
"""
