"""SQL over topics with DuckDB, in this process: no JVM, no broker, no catalog.

engine        statements to results, and the offsets that they see
naming        table names in a statement, and the topics they mean
views         a topic's rows as one view
hot           rows that are not in Parquet yet
files         Parquet files for pyarrow, and the search for a damaged one
functions     functions besides DuckDB's own
interrupting  Ctrl-C during a query
results       rows as Python values, and errors

The offset index is the source of truth: a row is in exactly one of its entries, in a Parquet file or a WAL
object, whatever compaction does in the meantime. DuckDB opens nothing itself: rows are handed to it, and it
has access to neither files nor network.
"""
