"""PySpark jobs and the compaction saga."""
