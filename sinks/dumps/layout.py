"""
Names of the files and folders of dumps; those of EmoDB's Stash, and a manifest, a lock and pins beside them.

::

    ROOT/_LATEST                         name of the newest complete dump; a hint, which may be stale
    ROOT/_LOCK                           who makes a dump
    ROOT/_pins/PIN.json                  a dump that may not expire
    ROOT/_run-ID/                        a dump that is being made
    ROOT/2015-02-24-00-00-00/            a dump, by its start in UTC
        _SUCCESS                         start, end and id, one a line; without it the dump is incomplete
        _MANIFEST.json                   its tables and files
        _KEEP                            the user has created it: the dump never expires
        answer~books/answer~books-00-5f0c…-0.json.gz

Source: EmoDB, `StashUtil` and `ScanDestination`.
"""

import hashlib
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from ingest.api import ConfigError
from ingest.formats.times import iso_milliseconds, milliseconds_of, moment

LATEST, LOCK, PINS, PARTS = "_LATEST", "_LOCK", "_pins", "_parts"
SUCCESS, MANIFEST, KEEP, PLAN = "_SUCCESS", "_MANIFEST.json", "_KEEP", "_PLAN.json"
HIDDEN = "_SUCCESS.hidden"
"""`_SUCCESS` of a dump that an expiry is about to remove."""
Moment = Annotated[int, PlainValidator(lambda text: iso_milliseconds(text.encode())), PlainSerializer(moment)]
"""Milliseconds since the epoch; as text in ISO 8601 in records."""
MARKERS = {SUCCESS, HIDDEN, MANIFEST, KEEP, PLAN}
"""Files of a dump that belong to no table."""

_RUN = "_run-"
_TIME_FORMAT = "%Y-%m-%d-%H-%M-%S"  # no colons: Hadoop's distcp does not copy such names
_TIME = re.compile(r"\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
_TABLE_FILE = re.compile(r"(?P<table>.+)-[0-9a-f]{2}-[0-9a-f]{16}-(?P<part>\d+)\.(?P<format>[a-z.]+)", re.ASCII)
_SHARDS = 256  # two hexadecimal digits


class FileFormat(StrEnum):
    """The format of the files of a table; the value is the end of their names."""

    GZIP = "json.gz"
    """A line of JSON for each row, compressed with gzip; EmoDB's."""
    ZSTD = "json.zst"
    """The same with Zstandard."""
    PARQUET = "parquet"
    """A Parquet file with the row key, and all cells or the declared columns."""


def dump_name(start_ms: int) -> str:
    """The folder of a dump that starts at a time; the milliseconds are cut off."""
    return datetime.fromtimestamp(start_ms // 1000, UTC).strftime(_TIME_FORMAT)


def dump_time(name: str) -> int | None:
    """The start of a dump in ms since the epoch; None if the folder is not one of a dump."""
    if not _TIME.fullmatch(name):
        return None
    try:
        return milliseconds_of(datetime.strptime(name, _TIME_FORMAT).replace(tzinfo=UTC))
    except ValueError:
        return None


def second_of(time_ms: int) -> str:
    """A time in ISO 8601 format with seconds, as `_SUCCESS` has it."""
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_folder(run_id: str) -> str:
    """
    The folder of a dump that is being made.

    Raises:
        ConfigError: the id cannot be part of a file name.
    """
    if not _ID.fullmatch(run_id):
        raise ConfigError(
            f'"{run_id}" is no id of a dump',
            hint="it has up to 128 letters, digits, dots, dashes and underscores",
        )
    return _RUN + run_id


def id_of_run(folder: str) -> str | None:
    """The id of a dump that is being made; None if the folder is another one."""
    return folder.removeprefix(_RUN) if folder.startswith(_RUN) else None


def encoded_table(table: str) -> str:
    """The folder of a table: `:` of an HBase namespace becomes `~`, because Hadoop's paths have no colons."""
    return table.replace(":", "~")


def decoded_table(folder: str) -> str:
    """The table of a folder; the inverse of `encoded_table` for tables whose names have no `~`."""
    return folder.replace("~", ":")


def check_tables(tables: list[str]) -> None:
    """
    Check that the tables of a dump can have folders of their own.

    Raises:
        ConfigError: two have the same folder, or the name of one is no name of a folder.
    """
    seen: dict[str, str] = {}
    for table in tables:
        folder = encoded_table(table)
        if not folder or "/" in folder or folder.startswith((".", "_")) or "\0" in folder:
            raise ConfigError(
                f'table "{table}" cannot be dumped: "{folder}" is no name of a folder in a dump',
                hint="leave it out: name the other tables with --tables",
            )
        other = seen.setdefault(folder, table)
        if other != table:
            raise ConfigError(
                f'tables "{other}" and "{table}" have the same folder "{folder}"', hint="dump them into two roots"
            )


def table_file_name(table: str, part: int, file_format: FileFormat) -> str:
    """
    The path of a file below the folder of its dump.

    It depends on table and part alone, so an attempt that is repeated writes the same file.

    Args:
        table: its name.
        part: number of the file in the dump's files of the table, from 0; unique.
        file_format: of the file.
    """
    folder = encoded_table(table)
    table_id = hashlib.sha256(table.encode()).hexdigest()[:16]
    return f"{folder}/{folder}-{part % _SHARDS:02x}-{table_id}-{part}.{file_format}"


def file_format(name: str) -> FileFormat | None:
    """The format of a table's file, by the end of its name; None if it is no such file."""
    return next((each for each in FileFormat if name.endswith(f".{each}")), None)


def part_of(name: str) -> int | None:
    """The number of a file in its table; None if its name is not of this layout."""
    found = _TABLE_FILE.fullmatch(name.rpartition("/")[2])
    return None if found is None else int(found["part"])
