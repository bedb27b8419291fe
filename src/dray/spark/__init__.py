"""Spark: the compaction engine, and topics as DataFrames. Nothing else in Dray imports pyspark.

java, launch, jvm      the Java that runs Spark, its command line, and its process
session, scratch       a session in one JVM, and its temporary folder
engine, job_monitor    compaction tasks as one Spark job, and its progress
daemon, worker         code of Spark's Python workers, on any machine
source, sink           `spark.read.format("dray")`, `df.write.format("dray")`
options, errors        options and errors of both
settings               settings of the compactor's Spark
"""
