"""Versions of archived tables that another process than the pipeline writes, reads or removes."""
