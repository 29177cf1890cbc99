"""What an exception of HBase means; the same with both protocols."""

import re
from enum import Enum
from typing import NamedTuple

from ingest.api import (
    IngestError,
    NoTableError,
    NotFoundError,
    SchemaError,
    StoreBusyError,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
    TimestampRefusedError,
    UnclearRefusalError,
    WriteRejectedError,
)
from ingest.api.store_errors import UnknownFamilyError

_MAX_REASON_CHARS = 300  # of a server's text in our message


class Kind(Enum):
    """What an exception of HBase means for the call that it answers."""

    MOVED = "moved"
    """The region is elsewhere, or about to be: look it up and call again."""
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    NO_FAMILY = "no_family"
    REJECTED = "rejected"
    TOO_LARGE = "too_large"
    TOO_NEW = "too_new"
    """A timestamp is later than `hbase.hregion.keyvalue.timestamp.slop.millisecs` allows."""
    NO_TABLE = "no_table"
    DISABLED = "disabled"
    READ_ONLY = "read_only"
    REPLICATED = "replicated"
    """The family is replicated, which needs the write-ahead log that the row skips; only HBase 3 refuses it."""
    QUOTA = "quota"
    DENIED = "denied"
    INCOMPATIBLE = "incompatible"
    SCANNER_GONE = "scanner_gone"
    """The server does not know the scanner any more, or has lost its position."""


class TableExistsError(StoreError):
    """A table that was to be created exists."""


class NoFamilyError(StoreError):
    """A read names a family that the table lacks."""


class _Failure(NamedTuple):
    error: type[IngestError]
    message: str
    hint: str | None = None


_FAILURES = {
    Kind.BUSY: _Failure(StoreBusyError, "busy: {reason}"),
    Kind.NO_FAMILY: _Failure(
        UnknownFamilyError,
        'no such family in table "{table}": {reason}',
        "add it with 'attr2hbase table apply', or allow it with `families.on_unknown: create`; both need `thrift2` or "
        "`bootstrap_servers`",
    ),
    Kind.REJECTED: _Failure(WriteRejectedError, "refused: {reason}"),
    Kind.TOO_LARGE: _Failure(
        WriteRejectedError,
        "cell too large: {reason}",
        "set the store's `max_cell_bytes` to refuse such cells before they are sent",
    ),
    Kind.TOO_NEW: _Failure(
        TimestampRefusedError,
        "a region server refuses a timestamp as too late by its clock: {reason}",
        "compare the clocks of this machine and of the region servers; the limit is "
        "hbase.hregion.keyvalue.timestamp.slop.millisecs",
    ),
    Kind.NO_TABLE: _Failure(NoTableError, 'there is no table "{table}"', NoTableError.hint),
    Kind.DISABLED: _Failure(StoreRefusedError, 'table "{table}" is disabled', "enable '{table}' in the hbase shell"),
    Kind.READ_ONLY: _Failure(
        StoreRefusedError, 'table "{table}" is read only', "alter '{table}', READONLY => false in the hbase shell"
    ),
    Kind.REPLICATED: _Failure(
        StoreRefusedError,
        'a family of table "{table}" is replicated, and HBase 3 refuses rows without the write-ahead log: {reason}',
        "leave `durability: skip` and `write_to_wal: false` out of the sink, or alter '{table}', "
        "{NAME => 'FAMILY', REPLICATION_SCOPE => 0} in the hbase shell",
    ),
    Kind.QUOTA: _Failure(StoreRefusedError, "a quota of space is used up: {reason}"),
    Kind.DENIED: _Failure(
        StoreRefusedError,
        "access denied: {reason}",
        "the user of the service, or of its Thrift server, needs the rights R, W and C on the table",
    ),
    Kind.INCOMPATIBLE: _Failure(StoreRefusedError, "incompatible with the cluster: {reason}"),
}
_OTHER = _Failure(StoreUnavailableError, "not available: {reason}")
_STARTING = re.compile(r"PleaseHoldException|ServerNotRunningYetException|MasterNotRunningException")


def error_of_kind(kind: Kind, table: str, reason: str = "") -> IngestError:
    """
    Our error for a kind of exception.

    Args:
        kind: of the exception.
        table: of the call; it stands for `{table}` in messages and hints.
        reason: the server's text; it stands for `{reason}`, and is cut if it is long.
    """
    failure = _FAILURES.get(kind, _OTHER)
    if failure is _OTHER:
        return unavailable_because(f"not available: {reason[:_MAX_REASON_CHARS]}", reason)
    message = failure.message.replace("{table}", table).replace("{reason}", reason[:_MAX_REASON_CHARS])
    hint = failure.hint.replace("{table}", table) if failure.hint else None
    namespace, colon, _ = table.partition(":")
    if kind is Kind.NO_TABLE and colon:
        hint = (
            f"{hint}; a Thrift server needs its namespace: give it `bootstrap_servers`, with which it is created, "
            f"or type into the hbase shell: create_namespace '{namespace}'"
        )
    return failure.error(message, hint=hint)


def unavailable_because(message: str, reason: str, *, hint: str | None = None) -> StoreUnavailableError:
    """The error for servers that cannot serve a call; `reason` has their exceptions, which say whether they start."""
    error = StoreUnavailableError(message, hint=hint)
    error.is_starting = _STARTING.search(reason) is not None
    return error


def unclear_refusal(reason: str) -> UnclearRefusalError:
    """Our error for an exception that a client must not repeat and of which nothing else is known."""
    return UnclearRefusalError(f"refused: {reason[:_MAX_REASON_CHARS]}")


def schema_error(error: IngestError) -> IngestError:
    """The error of a schema change rather than a write: a rejection becomes a SchemaError."""
    return SchemaError(error.message, hint=error.hint) if isinstance(error, WriteRejectedError) else error


def read_error(error: IngestError) -> IngestError:
    """
    The error of a read rather than a write: a missing table is not found, and a rejection becomes a refusal.

    A read is not caused by an event, so if the server rejects it the pipeline blocks.
    """
    if isinstance(error, NoTableError):
        return NotFoundError(error.message, hint=error.hint)
    if isinstance(error, WriteRejectedError):
        return StoreRefusedError(error.message, hint=error.hint)
    return error
