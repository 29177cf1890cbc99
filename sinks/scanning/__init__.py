"""Reads of tables by original row keys, whether their row keys are distributed over buckets or not."""
