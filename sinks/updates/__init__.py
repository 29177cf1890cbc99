"""Deferred updates: rows that are appended and merged, instead of read, modified and written."""
