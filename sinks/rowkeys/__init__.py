"""
Row keys without I/O: how a salted table stores them, and how they spread over regions.

`distribution` is the hash that precedes each row key of a salted table. `analysis` measures how the row keys of a
sample spread over a `layout` of regions, and counts their `prefixes`.
"""
