"""Compaction: conversion of WAL ranges to Parquet files that serve both the log and the table.

compactor, leases           passes over all topics, one compactor per topic; defines the terms of the package
maintenance_port            the interface of table maintenance (`dray.maintenance`)
table_listing               the catalog's tables at the start of a pass
backoff, failures           delays after failures; their reports, and the reasons for `compaction status`
candidates, plan            which ranges of a stream are due: the lookups, and the rules (pure)
rounds, report              one round on one topic, from the plan to table and index, and its result
key_compaction              `cleanup.policy=compact`, on records that are in Parquet files
ensure_table, topic_tables  creation of a topic's table; topics and files as the tables port describes them
publish                     commit of written files to the table, then to the index
job_store                   job records in the metadata store
index_files                 a topic's Parquet files according to the index
skipped                     WAL entries that cannot be converted
deps, settings, metrics     shared by everything in a compactor
engine, task_monitor        the interface to the engine that runs tasks, and what is measured of it
tasks, rewrite              the kinds of tasks, and their execution in a worker
"""
