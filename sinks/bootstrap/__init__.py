"""A copy of a table in any store: a dump is loaded, then the changes since are applied."""
