"""Registers the format `attr2hbase`: Spark imports installed modules named `pyspark_*` and finds `DefaultSource`."""

from ingest.spark.datasource.source import TableDataSource as DefaultSource

__all__ = ["DefaultSource"]
