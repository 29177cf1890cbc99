"""The change feed of a table: the changes of its rows in order, in a table of the same store."""
