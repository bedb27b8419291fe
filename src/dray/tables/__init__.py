"""Tables of topics: the port, and its Iceberg adapter."""
