"""
Tables as a data source of Spark, for batch reads and for batch and streaming writes: the format `attr2hbase`.

`options` and `columns` parse the options; `tables` finds the store and opens it. `filters` and `partitions` decide
which ranges of row keys a task reads, without I/O; `reader` reads them. `mutations` turns rows into puts, `writer`
writes them. `source` is the class that Spark creates by the name of the format.

Spark calls a data source in several processes, and pickles what it returns in one for the next: the source and the
plan of a read or write are created in a Python process beside the driver, partitions are read and written in workers.
"""
