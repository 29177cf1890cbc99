"""
Row keys without a store.

`distribution` is the hash that precedes each physical row key of a table with buckets; `fuzzy` finds the rows that a
scan with patterns can skip. `analysis` measures how the row keys of a sample spread over a `layout` of regions, and
counts their `prefixes`.
"""
