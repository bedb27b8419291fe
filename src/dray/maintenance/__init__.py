"""Table maintenance between compaction rounds, for tables that other engines may change.

maintenance           the steps before and after a compactor's pass, and before and after each round
snapshot_expiry       expiry of snapshots, and deletion of unreferenced files in table folders
table_files           the files in a table's own folder
detach                removal of files from the table that the log has released
file_reference_check  check whether tables reference files that are about to be deleted
deleted_topics        cleanup of tables, jobs and files of deleted topics
rebuild               rebuild of dropped tables from the index
missing_files         Parquet files that the index references and the store lacks
repair                restoration of those files from the rows of the table
foreign_rows          reads of our records in Parquet files written by other engines
differences           comparison of table and index, and which differences can be repaired; pure
audit                 repair of those differences; the rest is recorded
lag, status           age of a topic's oldest uncompacted record; compaction status of a topic
stored_values         reads of stored records that skip corrupt values

The index is authoritative, and intended changes of other engines stay: maintenance never changes rows
that they wrote, and reports what it cannot repair. Compaction rounds do not depend on any of this.
"""
