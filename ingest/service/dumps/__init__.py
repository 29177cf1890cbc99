"""Dumps of tables, and their load into another store."""
