"""Check of a cluster: index, records, objects, tables and groups compared with each other, and repairs."""
