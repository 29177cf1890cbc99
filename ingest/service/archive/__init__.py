"""Versions of archived tables that another process than the stream writes, reads or removes."""
