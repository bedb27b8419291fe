"""Cleaning by key, for topics with `cleanup.policy=compact`: of each key the last record stays."""
