"""The log as tables: the compaction saga, the care of tables, and topics read and written without a broker.

compactor                  goes through the topics, turn after turn: rounds, cleaning, care
leases, backoff, troubles  who is at a topic; what failed is left alone for a while, and told to whoever asks
plan, next_spans           which ranges of a stream are to be rewritten: the rules (pure), and the looking
rounds                     one go at one topic, from there to table and index
clean                      cleaning by key
first_table, drafts        what there must be before a job begins: a table, names that nobody has used
publish                    written files become part of the table, then of the index
care                       what looks after tables between the rounds
parts, settings, metrics   what everything in a compactor is given
report, status, lag        what a round did; how far compaction is with a topic
job_store, streams         the jobs' records; a stream's head and entries
index_files, topic_tables  a topic's files as the index names them, and as its table is told of them
stored_topics              topics, for whoever looks once

engine, watched            who does the tasks of all that, and what is counted of it
work, rewrite              the kinds of tasks, and what is done for each, wherever it runs
reads, places, damage      what tasks read, what they tell of a file they wrote, or of one they cannot read
spark                      tasks as Spark jobs; topics as DataFrames

access, blocking           how whoever is no broker reaches a cluster; stores for code that does not await
read_ahead                 the next bytes, while the caller is busy with those before
reading                    rows of the log without a broker: what `sql` and Spark's source have in common
sql                        topics as tables of DuckDB
"""
