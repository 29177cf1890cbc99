"""Parsers of formats that several decorators and sources read: texts, records and files."""
