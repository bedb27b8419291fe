"""Key compaction, for topics with `cleanup.policy=compact`: only the last record of each key is retained.

plan      which range of a stream is compacted next (pure)
segments  where Kafka would have rolled its log, which limits the range (pure)
tasks     the tasks for the workers, and their results
filter    execution of a task: the key map, and the file without obsolete rows
rounds    one round on one topic, from the plan to table and index
"""
