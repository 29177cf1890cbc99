"""The class that Spark creates for the format `attr2hbase`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from ingest.api import ConfigError
from ingest.spark.datasource.schemas import fields_of, schema_of

if TYPE_CHECKING:  # Spark imports this module in each session, also in those that do not use the format
    from ingest.spark.datasource.options import ReadOptions
    from ingest.spark.datasource.writer import BatchWriter, StreamWriter, WritePlan

FORMAT = "attr2hbase"


class TableDataSource(DataSource):
    """
    A table of HBase or RocksDB, or of a dump.

    The schema of a read is `row binary, cells map<string, binary>`, or the row key and the columns that the option
    `columns` declares. docs/guides/spark.md describes the options.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> StructType:
        """The schema of a read, by the options, and the types that the table has for columns without TYPE."""
        from ingest.plan.features import added_columns

        options = self._read_options()
        added = added_columns(options.asked)
        return schema_of(options.columns, has_versions=options.has_versions, added=added)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the table."""
        from ingest.spark.datasource.reader import FilteringReader, TableSourceReader
        from ingest.spark.datasource.tables import source_table

        if fields_of(schema) != fields_of(self.schema()):
            raise ConfigError(
                f"the table is read as {self.schema().simpleString()}, not as {schema.simpleString()}",
                hint='leave .schema(…) out, and declare the columns in .option("columns", …)',
            )
        options = self._read_options()
        if "dump_root" in self._options():
            from ingest.spark.datasource.dump import DumpSourceReader, dump_source

            return DumpSourceReader(dump_source(self._options()), options, schema)
        reader = FilteringReader if options.push_filters else TableSourceReader
        return reader(source_table(self._options()), options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> "BatchWriter":  # noqa: FBT001 - Spark's signature
        """The writer of `df.write`."""
        from ingest.spark.datasource.writer import BatchWriter

        return BatchWriter(self._write_plan(schema, overwrite=overwrite, is_streaming=False))

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001 - Spark's signature
    ) -> "StreamWriter":
        """The writer of `df.writeStream`."""
        from ingest.spark.datasource.writer import StreamWriter

        return StreamWriter(self._write_plan(schema, overwrite=overwrite, is_streaming=True))

    def _write_plan(self, schema: StructType, *, overwrite: bool, is_streaming: bool) -> "WritePlan":
        from ingest.spark.datasource.declared_types import DeclaredTypes
        from ingest.spark.datasource.mutations import row_mapper
        from ingest.spark.datasource.options import write_options
        from ingest.spark.datasource.tables import source_table
        from ingest.spark.datasource.writer import write_plan

        if overwrite:
            raise ConfigError(
                "a write cannot replace a table",
                hint='use outputMode("append")'
                if is_streaming
                else 'use mode("append"): rows with the same key and column get the new value',
            )
        options = write_options(self._options(), DeclaredTypes(self._options()).of, is_streaming=is_streaming)
        return write_plan(source_table(self._options()), row_mapper(schema, options))

    def _read_options(self) -> "ReadOptions":
        from ingest.spark.datasource.declared_types import DeclaredTypes
        from ingest.spark.datasource.options import read_options

        return read_options(self._options(), DeclaredTypes(self._options()).of)

    def _options(self) -> Mapping[str, str]:
        return {name.lower(): value for name, value in self.options.items()}
