"""Spark: how it is started and given work, and topics as DataFrames. Nothing else in Dray imports pyspark.

java, launch, jvm      the Java it runs on, the command and the process
master, own_folder     whether a cluster's master answers; the folder that a session has for itself
session                one session in one JVM
job, watching          many tasks as one job, and what becomes of it
daemon, worker         run in Spark's Python workers, on whatever machine they are
source, sink           `spark.read.format("dray")`, `df.write.format("dray")`
options, settings      what users of those can choose, and what compactors can
"""
