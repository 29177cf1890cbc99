"""
Dumps of tables in files (dump): layout, rows, manifest, lock, pins, reader, expiry; without Spark and without a store.

`sinks.files` opens the file system that the dumps are in, `layout` names their files and folders. `run` makes a dump,
`table_files` writes the rows of one file of it. `reader` reads dumps. `rows` is the JSON of a row, `lines` the files of
such rows, `parquet` the same as columns.
"""
