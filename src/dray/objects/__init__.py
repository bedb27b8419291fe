"""Object stores: the port, its backends, and wrappers that add retries, metrics, a cache or faults."""
