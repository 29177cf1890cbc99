"""Sources: their options, and the decoding of records into events."""
