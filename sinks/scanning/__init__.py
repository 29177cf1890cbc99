"""Reads of tables by logical row keys, whether their row keys are distributed over buckets or not."""
