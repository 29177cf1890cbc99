"""
Deferred updates: rows that are appended and merged, instead of read, modified and written.

`keys` are the row keys of update rows. `merging` merges columns with a processor; `processors` has the built-in ones,
and `numbers` what they share. `groups` merges the update rows of one logical row, as a read does. `compaction` and
`rollback` say which rows to write and to delete. Nothing here reads or writes a store.
"""
