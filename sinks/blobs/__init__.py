"""
Blobs: values that are too large for a cell, in blocks of a table of their own, stored once for each content.

The id of a blob is the SHA-256 of its bytes. A blob store has three tables; the decision is docs/adr/0048.
"""
