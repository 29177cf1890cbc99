"""The embedded store: HBase's rules on RocksDB, in one folder, written by one process."""
