"""Topic scans without a broker, shared by Spark's source, `dray sql` and compaction tasks.

access      access to a cluster's stores, and the types of what opens them elsewhere
blocking    stores for code that does not await
ranges      partitions, offset ranges, entry ranges and byte ranges to read, as values
topic       queries of the metadata store: partitions, heads, and the index entries of a range
read_ahead  prefetching of byte ranges
pieces      decoding of entry ranges into rows; the only module that needs the compiled kernels
"""
