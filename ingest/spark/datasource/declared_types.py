"""The types of the columns of a table, for columns that the option `columns` names without a type."""

from collections.abc import Mapping
from functools import cached_property

from ingest.formats.cell_types import CellType
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from ingest.spark.datasource.dump import dump_source
from ingest.spark.datasource.options import table_options
from ingest.spark.datasource.tables import configuration_of, store_name_of
from sinks.dumps.reader import DumpReader, name_of


class DeclaredTypes:
    """
    The types that the pipeline file of the options, or their dump, has for a table; read when they are needed.

    Args:
        options: of a DataFrameReader or DataFrameWriter, whose names are in lower case.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def of(self, column: bytes) -> CellType | None:
        """
        The type of a column, `family:qualifier`; None if it has none.

        Raises:
            IngestError: the options, the pipeline file or the dump are not valid.
        """
        return self._types.of(column)

    @cached_property
    def _types(self) -> ColumnTypes:
        if "dump_root" in self._options:
            found = dump_source(self._options)
            dump = None if found.dump is None else name_of(found.dump)
            return DumpReader(found.root, owner="Spark").column_types(found.table, dump)
        wanted = table_options(self._options)
        if wanted.config is None:
            return AS_BYTES
        configuration = configuration_of(wanted.config)
        return configuration.column_types(wanted.table, store_name_of(configuration, wanted))
