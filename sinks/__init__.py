"""
From events to durable cells, and reading them back.

The ways through the rooms: `mapping` turns an event into one mutation, `writer` checks it against what is there,
`mutator` folds, buffers and sends it with the help of `fold`, `buffer`, `sending`, `retry` and `bisection`; `hbase`,
`rocksdb` and `memory` keep it; `handover` stands in for a store that only the driver may write, which has it as a
`driver_store`; `families` makes what is missing, and `drift` compares tables with the configuration.

The tables below are names alone, so importing them costs nothing; `ingest.catalog` resolves them.

    BUILTIN_SINKS    name of a sink -> its mapper
    BUILTIN_STORES   name of a store -> its options, its class
"""

BUILTIN_SINKS: dict[str, str] = {
    "attr2hbase": "sinks.mapping.attr2hbase:Attr2HBase",
    "hbase": "sinks.mapping.hbase:HBase",
}

BUILTIN_STORES: dict[str, tuple[str, str]] = {
    "hbase": ("sinks.hbase.settings:HBaseSettings", "sinks.hbase.store:HBaseStore"),
    "memory": ("sinks.memory:MemorySettings", "sinks.memory:MemoryStore"),
    "rocksdb": ("sinks.rocksdb.settings:RocksDBSettings", "sinks.rocksdb.store:RocksDBStore"),
}
