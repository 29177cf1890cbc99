"""Tables and families: one RocksDB column family for each table, and a record of its specification."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes

from pydantic import PlainSerializer, PlainValidator
from rocksdict import DBCompressionType, DBRecoveryMode, Options, Rdict, WriteBatch, WriteOptions

from ingest.api import FamilySpec, IntegrityError
from ingest.api.notation import shown
from ingest.durable.record import Record
from sinks.rocksdb.reading import at_key

FORMAT_KEY = b"format"
FIRST_FORMAT = b"3"
"""The format of a new store, which version 0.2.0 reads."""
EXTENDED_FORMAT = b"4"
"""The format from the first property of a table, or the first delete of a single version, on."""
FORMATS = (FIRST_FORMAT, EXTENDED_FORMAT)
"""The formats that this version reads; it refuses a store of another one. Changes of keys or records add a format."""
_TABLE_KEY = b"table:"
_PROPERTIES_KEY = b"properties:"

WRITE_BUFFER_BYTES = 32 << 20
"""Of one table: flushed files are large, and ten tables fit into a small driver."""
ALL_BUFFERS_BYTES = 128 << 20
"""Of all tables together; above it RocksDB flushes the largest buffers."""
REMOVALS_WINDOW, REMOVALS_IN_WINDOW = 128, 64
"""
RocksDB merges a file with those below it, until its removals are gone, if 64 of 128 adjacent keys are removals. Else a
read of what follows passes each of them, which takes about 0.5 µs.
"""

_COMPRESSIONS = {
    "none": ("kNoCompression", DBCompressionType.none),
    "snappy": ("kSnappyCompression", DBCompressionType.snappy),
    "lz4": ("kLZ4Compression", DBCompressionType.lz4),
    "gz": (
        "kZSTD",
        DBCompressionType.zstd,
    ),  # the package is built without zlib, and would not compress
    "zstd": ("kZSTD", DBCompressionType.zstd),
}
"""The strongest last: the files of a table have all its families, and the strongest compression is used."""


def database_options(max_open: int) -> Options:
    """
    Options of the database; the same for the writer and for readers.

    Args:
        max_open: maximum number of open files, see `descriptors`.
    """
    options = table_options()
    options.set_max_open_files(max_open)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    # tolerates the torn last record of a killed process; any other damage is an error, whereas RocksDB's default
    # would silently skip all records after it
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_db_write_buffer_size(ALL_BUFFERS_BYTES)
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(5)
    return options


def table_options() -> Options:
    """Options of one table."""
    options = Options(raw_mode=True)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_compression_type(DBCompressionType.none())
    options.add_compact_on_deletion_collector_factory(REMOVALS_WINDOW, REMOVALS_IN_WINDOW, 0.0)
    return options


def file_options(compression: str) -> Options:
    """Options of a file that a task writes for a table; it has no deletes, which would have to be counted."""
    options = Options(raw_mode=True)
    options.set_compression_type(_COMPRESSIONS[compression][1]())
    return options


def strongest(specs: Iterable[FamilySpec]) -> str:
    """The strongest compression of the families."""
    return max((spec.compression for spec in specs), key=list(_COMPRESSIONS).index, default="none")


def compress(table: Rdict, specs: Iterable[FamilySpec]) -> None:
    """Set the compression of new files of an open table, until it is closed."""
    table.set_options({"compression": _COMPRESSIONS[strongest(specs)][0]})


def column_family(table: str) -> str:
    """Name of a table's column family: quoted, and never that of RocksDB's default one."""
    return f"table:{quote(table, safe='')}"


def estimate_key(table: str) -> bytes:
    """Key of the record with a table's garbage estimate."""
    return b"gauge:" + table.encode()


def _plain(families: Mapping[bytes, FamilySpec]) -> dict[str, dict[str, object]]:
    return {
        quote_from_bytes(spec.name): {
            "versions": spec.versions,
            "ttl_s": spec.ttl_s,
            "compression": spec.compression,
            "bloom": spec.bloom,
        }
        for spec in families.values()
    }


def _families(content: Mapping[str, Mapping[str, Any]]) -> dict[bytes, FamilySpec]:
    specs = [FamilySpec(name=unquote_to_bytes(family), **options) for family, options in content.items()]
    return {spec.name: spec for spec in specs}


@dataclass(frozen=True, slots=True)
class TableRecord(Record, kind="record of table", unnumbered=True):
    """
    The record of a table.

    Attributes:
        families: by name.
        buckets: number of buckets of its row keys; None if they are stored as they are.
    """

    families: Annotated[dict[bytes, FamilySpec], PlainValidator(_families), PlainSerializer(_plain)]
    buckets: int | None = None


def write_record(database: Rdict, table: str, record: TableRecord, options: WriteOptions) -> None:
    """Write the record of a table."""
    database.put(_TABLE_KEY + table.encode(), record.to_bytes(), options)


def read_records(database: Rdict) -> dict[str, TableRecord]:
    """
    Table -> its record.

    Raises:
        IntegrityError: the store has another format, or a record cannot be read.
    """
    found = database.get(FORMAT_KEY)
    if found is not None and found not in FORMATS:
        raise IntegrityError(
            f"the store has format {shown(found)}, this version reads {' and '.join(map(shown, FORMATS))}",
            hint="use the version that wrote it",
        )
    tables: dict[str, TableRecord] = {}
    cursor = database.iter()
    cursor.seek(_TABLE_KEY)
    while at_key(cursor) and cursor.key().startswith(_TABLE_KEY):
        name = cursor.key()[len(_TABLE_KEY) :].decode()
        tables[name] = TableRecord.of(cursor.value(), name)
        cursor.next()
    return tables


def write_properties(database: Rdict, table: str, properties: Mapping[str, str], options: WriteOptions) -> None:
    """Write the properties of a table, which need not exist, and the format of stores with properties, atomically."""
    batch = WriteBatch(raw_mode=True)
    batch.put(FORMAT_KEY, EXTENDED_FORMAT)
    batch.put(_PROPERTIES_KEY + table.encode(), json.dumps(properties).encode())
    database.write(batch, options)


def read_properties(database: Rdict, table: str) -> Mapping[str, str]:
    """
    The properties of a table, name -> value.

    Raises:
        IntegrityError: they cannot be read.
    """
    found = database.get(_PROPERTIES_KEY + table.encode())
    try:
        return {} if found is None else dict(json.loads(found).items())
    except (ValueError, AttributeError) as error:
        raise IntegrityError(f'the properties of table "{table}" cannot be read: {error}') from error
