"""
Archives: events as files in partitions by event time, which can be written again as a whole.

`layout` names the files. `partition` has the versions of a partition and its pointer, which `switching` moves. `sink`
is the sink `archive`: `columns` makes rows, `task_writer` and `row_files` write them in the tasks, `committing` moves a
micro-batch into place on the driver: `placement` is where its files go, and `replayed_rows` are not written twice.
`rewrites` is how a writer and a process that writes a partition again, a re-run or a join, agree, by `answering`;
`rewrite` is the version of that process. Into it, `rerun_sink` writes records and `copying` rows of the version before.
`cleanup` removes versions, and `empty_partitions` partitions without rows.
"""
