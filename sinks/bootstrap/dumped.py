"""One table of a dump, as a bootstrap reads it."""

from collections.abc import Generator, Mapping
from types import MappingProxyType

from ingest.api import ConfigError, FamilySpec, IntegrityError, LifecycleError, Row
from sinks.bootstrap.progress import BootstrapProgress
from sinks.dumps.errors import TableNotDumpedError
from sinks.dumps.file_ref import FileRef
from sinks.dumps.reader import DumpReader
from sinks.rowkeys.row_format import RowFormat


class DumpTableReader:
    """
    One table of the dump to which a reader is locked.

    Args:
        reader: locked to a dump.
        table: its name in the dump.

    Attributes:
        dump: name of the dump.
        files: number of files.
        rows_total: number of rows; None if the dump does not say.
        families: name of a family -> its options in the source, as far as the dump has them.
        feed: what the dump recorded of the feed; None if the table had none.

    Raises:
        TableNotInDumpError: the dump does not know the table.
        ConfigError: the dump has some columns of the table only, without the times of cells.
    """

    def __init__(self, reader: DumpReader, table: str) -> None:
        self._reader = reader
        found = reader.latest()
        self.dump = found.name
        self.rows_total: int | None = None
        self.families: Mapping[bytes, FamilySpec] = {}
        self.feed: Mapping[str, object] | None = None
        manifest = found.manifest
        if manifest is not None and table in manifest.tables:
            about = manifest.tables[table]
            if about.columns is not None:
                raise ConfigError(
                    f'dump {found.name} has some columns of table "{table}" only, without the times of their cells',
                    hint="load a dump of lines, or a Parquet dump of all cells",
                )
            self.rows_total = about.rows
            self.families = {family.name: family for family in about.families}
            self.feed = manifest.feed.get(table)
        try:
            self._refs: list[FileRef] = reader.files(table)
        except TableNotDumpedError:
            self._refs = []
        self.files = len(self._refs)

    def rows(self, file: int) -> Generator[Row]:
        """
        The rows of a file.

        Raises:
            DumpCorruptError: the file is damaged.
        """
        with self._reader.read(self._refs[file]) as rows:
            for row in rows:
                yield row.to_row()


class LoadedTable:
    """
    As `DumpTableReader`, for a table whose rows are all loaded: the dump may have expired, and is not read again.

    Args:
        progress: of the bootstrap.
    """

    files = 0
    families: Mapping[bytes, FamilySpec] = MappingProxyType({})

    def __init__(self, progress: BootstrapProgress) -> None:
        self.dump = progress.dump
        self.rows_total: int | None = progress.checksum.rows

    def rows(self, file: int) -> Generator[Row]:
        """None: there are no files to read."""
        raise LifecycleError(f"file {file} of dump {self.dump} is read although all rows are loaded")


def require_values(table: str, rows: RowFormat, *, hint: str) -> None:
    """
    Refuse a table with deferred updates: a dump has merged rows, not its updates.

    Raises:
        ConfigError: it has deferred updates.
    """
    if rows.updates:
        raise ConfigError(f'table "{table}" has deferred updates, and a dump has merged rows', hint=hint)


def positions_of(recorded: Mapping[str, object], table: str) -> dict[int, str]:
    """
    Number of a shard -> iterator, as a dump has recorded them of a feed.

    Raises:
        IntegrityError: they cannot be read.
    """
    positions = {
        int(shard): iterator for shard, iterator in recorded.items() if shard.isdecimal() and isinstance(iterator, str)
    }
    if len(positions) == len(recorded):
        return positions
    raise IntegrityError(
        f'the dump has no positions in the change feed of table "{table}" that this version can read',
        hint="use the version that made the dump, or a later one",
    )
