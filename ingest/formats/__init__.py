"""Formats that several decorators and sources read: texts, records and files as values; pure but for the files."""
