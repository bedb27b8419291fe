"""Object stores: the port, its backends, and wrappers that add retries, metrics or a cache."""
