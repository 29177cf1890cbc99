"""The blob stores that the tables of a file declare."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ingest.api import ConfigError, NotFoundError, Row, Store
from ingest.api.declared_table import DeclaredTable
from ingest.suggest import did_you_mean
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.feature import Blobs
from sinks.blobs.resolving import resolved
from sinks.blobs.tables import BlobTables

TableT = TypeVar("TableT", bound=DeclaredTable)


class BlobsOfTable(NamedTuple):
    """
    The blob store of a table, as plain data.

    Attributes:
        name: prefix of the names of its tables.
    """

    name: str
    options: BlobOptions

    @property
    def value_table(self) -> str:
        """Name of the table that has the blocks."""
        return BlobTables(self.name).value

    def resolving(self, store: Store[Any], table: str) -> Callable[[Row], Row]:
        """
        The function from a row of the table to the row with large values in place of the pointers to their blobs.

        Args:
            store: of the table, open.
            table: its name.

        Raises:
            NotFoundError: at a call: a blob does not exist.
            BlobsElsewhereError: at a call: the same, and the table has another blob store.
            BlobCorruptError: at a call: a blob is damaged.
        """
        return partial(resolved, BlobStore(store, self.name, self.options, owner=table))


class BlobsToRead(NamedTuple):
    """
    What the reader of a declared table knows of blob stores, as plain data.

    Attributes:
        blobs: of the table; None if it has none.
        owner: the table to whose blob store it belongs; None if it belongs to none.
    """

    blobs: BlobsOfTable | None
    owner: str | None


def blobs_of(tables: Mapping[str, DeclaredTable], table: str) -> BlobsOfTable | None:
    """The blob store of a table; None if the file, which has these tables, declares none."""
    declared = tables.get(table)
    blobs = None if declared is None else Blobs.options_of(declared)
    return None if blobs is None else BlobsOfTable(blobs.prefix(table), blobs.stored())


def require_blobs(store: Store[Any], table: DeclaredTable) -> None:
    """
    Check that a blob was stored before.

    Raises:
        NotFoundError: the tables of the blob store do not exist.
        BlobsElsewhereError: the table has another blob store.
    """
    blobs_in(store, table).check_owner()
    for own in Blobs().declared_tables(table):
        if store.families(own) is None:
            raise NotFoundError(f'there is no table "{own}"', hint="no blob was stored yet")


def table_with_blobs(tables: Mapping[str, TableT], table: str) -> TableT:
    """
    A table that has a blob store.

    Args:
        tables: of the file, by name.
        table: its name.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: the table has no blob store.
    """
    found = {name: blobs for name, each in tables.items() if (blobs := Blobs.options_of(each)) is not None}
    if table not in tables:
        hint = did_you_mean(table, found)
        if not hint:
            names = ", ".join(found)
            hint = (
                f"tables with `blobs`: {names}" if names else f"declare it, as in tables: {{{table}: {{blobs: {{}}}}}}"
            )
        raise NotFoundError(f'the file declares no table "{table}"', hint=hint)
    if table not in found:
        raise no_blob_store(table, Blobs.owner_of(tables, table))
    return tables[table]


def blobs_in(store: Store[Any], table: DeclaredTable) -> BlobStore:
    """
    The blob store of a table, in its open store.

    Raises:
        ConfigError: the table has no blob store.
    """
    blobs = Blobs.options_of(table)
    if blobs is None:
        raise no_blob_store(table.name)
    return BlobStore(store, blobs.prefix(table.name), blobs.stored(), owner=table.name)


def no_blob_store(table: str, owner: str | None = None) -> ConfigError:
    """
    The error for a table without a blob store.

    Args:
        table: its name.
        owner: of the blob store to which the table belongs; None if it belongs to none.
    """
    if owner is not None:
        return ConfigError(
            f'table "{table}" has no blob store: it belongs to the one of table "{owner}"', hint=f'name "{owner}"'
        )
    return ConfigError(f'table "{table}" has no blob store', hint="add `blobs: {}` to it under `tables`")
