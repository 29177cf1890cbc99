"""Rewrites the update rows of a table in its store: compaction and rollback, by one process at a time."""
