"""Code that several decorators use: edits, choices, names, digests, texts edited in place."""
