"""Reading rows of the log without a broker: what Spark's source and SQL have in common.

stretches   what is wanted of a partition, and where it lies, as values
topic       the metadata store's answers: partitions, heads, and the index entries of a range
pieces      the bytes of a stretch to its rows; needs the compiled kernels, the others do not
"""
