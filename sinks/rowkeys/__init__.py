"""
Row keys without I/O: how a salted table stores them, and how keys spread over regions.

`distribution` is the hash that precedes each row key of a salted table.
"""
