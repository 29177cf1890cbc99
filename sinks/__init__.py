"""
Stores, and the sinks that write to them.

`mapping` maps an event to mutations. `writing` writes them: `writer` checks their families, `mutator` folds, buffers
and sends them with `fold`, `buffer`, `sending`, `retry` and `bisection`; for a store that only the driver may write,
`staging` writes them to a file and `apply_staged` applies the file to the `driver_store`; `families` creates missing
families. `hbase`, `rocksdb` and `memory` are the stores. `schema_diff` compares tables with the configuration.
`rowkeys` computes the buckets of salted tables, and how row keys spread over regions. `updates` merges the update rows
of tables with deferred updates. `bulk_load` loads files in place of calls. `archive` and `kafka` are sinks without a
store.

The tables below contain only names, so importing them is cheap; `ingest.catalog` resolves them.

    BUILTIN_SINKS        name of a sink -> its class
    BUILTIN_STORES       name of a store -> its options, its class, whose method `of` may choose a subclass
    BUILTIN_FEATURES     classes of table features, in the order in which an event passes their writers; `SURFACE` in
                         the package of a class says which commands, jobs and metrics the feature has
    BUILTIN_PROCESSORS   name of a processor -> its class
"""

BUILTIN_SINKS: dict[str, str] = {
    "archive": "sinks.archive.sink:Archive",
    "attr2hbase": "sinks.mapping.attr2hbase:Attr2HBase",
    "hbase": "sinks.mapping.hbase:HBase",
    "kafka": "sinks.kafka.sink:Kafka",
}

BUILTIN_STORES: dict[str, tuple[str, str]] = {
    "hbase": ("sinks.hbase.settings:HBaseSettings", "sinks.hbase.store:HBaseStore"),
    "memory": ("sinks.memory:MemorySettings", "sinks.memory:MemoryStore"),
    "rocksdb": ("sinks.rocksdb.settings:RocksDBSettings", "sinks.rocksdb.store:RocksDBStore"),
}

BUILTIN_FEATURES: tuple[str, ...] = (
    "sinks.updates.feature:Updates",
    "sinks.feed.feature:Feed",
    "sinks.bulk_load.feature:BulkLoad",
    "sinks.blobs.feature:Blobs",
)

BUILTIN_PROCESSORS: dict[str, str] = {
    "add_cells": "sinks.updates.processors.add_cells:AddCells",
    "count": "sinks.updates.processors.count:Count",
    "last_n": "sinks.updates.processors.last_n:LastN",
    "max": "sinks.updates.processors.max:Max",
    "merge_json": "sinks.updates.processors.merge_json:MergeJson",
    "min": "sinks.updates.processors.min:Min",
    "sum": "sinks.updates.processors.sum:Sum",
}
