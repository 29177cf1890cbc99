"""
Checks of the memory, the write-ahead log and the flushes of a region server: `attr2hbase doctor hbase`.

The checks are pure functions of its configuration, its load and two samples of its metrics. docs/guides/hbase-memory.md
explains them.
"""
