"""The class that Spark creates for the format `attr2hbase`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from ingest.api import ConfigError
from ingest.spark.datasource.schemas import fields_of, schema_of

if TYPE_CHECKING:  # Spark imports this module in each session, also in those that do not use the format
    from ingest.spark.datasource.options import ReadOptions

FORMAT = "attr2hbase"


class TableDataSource(DataSource):
    """
    A table of HBase or RocksDB.

    The schema of a read is `row binary, cells map<string, binary>`, or the row key and the columns that the option
    `columns` declares. docs/guides/spark.md describes the options.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> StructType:
        """The schema of a read, by the options alone."""
        options = self._read_options()
        return schema_of(options.columns, has_versions=options.has_versions)

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
        reader = FilteringReader if options.push_filters else TableSourceReader
        return reader(source_table(self._options()), options, schema)

    def _read_options(self) -> "ReadOptions":
        from ingest.spark.datasource.options import read_options

        return read_options(self._options())

    def _options(self) -> Mapping[str, str]:
        return {name.lower(): value for name, value in self.options.items()}
