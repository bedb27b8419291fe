"""Topics as tables of DuckDB, in this process: no JVM, no broker, no catalogue.

engine        statements to results; opens what they mention
naming        what a statement mentions, and which topic that is
snapshot      where the rows of a topic are, at one exact offset for each partition
files         Parquet files of the object store as pyarrow reads them
damage        which of them cannot be read, when DuckDB says only that one cannot
hot           the rows that are not in Parquet yet
interrupting  Ctrl-C while DuckDB computes
functions     what queries get besides DuckDB's own
views         all of a topic's rows as one view
rows          results as Python's own values

The offset index says which rows there are: a row is in exactly one of its entries, in a Parquet file or in a
WAL object, whatever compaction does meanwhile. DuckDB itself opens nothing: rows are handed to it, and it may
reach neither files nor the network.
"""
