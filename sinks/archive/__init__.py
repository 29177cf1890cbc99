"""
Archives: events as files in partitions by event time, which can be written again as a whole.

`layout` names the files. `partition` has the batches of a partition and its pointer. `reruns` is how a stream and the
process that writes a partition again agree. `sink` is the sink `archive`: `columns` makes rows, `parquet_rows` and
`json_rows` write them in the tasks, `committing` moves a micro-batch into place on the driver.
"""
