"""
The one table from errors of a Thrift server to ours.

HBase answers with the text of a Java stack trace, so exception names in that text decide. The text has no row keys: it
never says which row was refused.

HBase also marks exceptions as final when every row is good, as for a table that is read only or over its quota. So this
table decides: an exception about rows rejects them; one about the table, permissions or the cluster blocks until an
operator acts; one that the table does not list counts as unavailable, and blocks too.

The unit tests hold the text of each row, taken from a live HBase but where the README beside the texts says otherwise.
"""

import re
from functools import partial
from typing import NamedTuple, Protocol

from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import TTransportException

from ingest.api import (
    IngestError,
    NoTableError,
    NotFoundError,
    SchemaError,
    StoreBusyError,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
    WriteRejectedError,
)
from sinks.hbase.thrift1 import AlreadyExists, HBaseIOError, IllegalArgument

DRIVER_ERRORS = (HBaseIOError, IllegalArgument, AlreadyExists, TApplicationException)
"""Answers of the server in place of a result; the connection is still good."""

CONNECTION_ERRORS = (TTransportException, TProtocolException, OSError, EOFError)
"""The connection is broken, or may still carry an old answer."""

_DO_THEY_MATCH = "do `transport`, `protocol` and `port` match the server's?"
_MAX_REASON_CHARS = 300  # letters of a server's text in a message of ours


class _Kind(Protocol):
    def __call__(self, message: str, *, hint: str | None = None) -> IngestError: ...


class Rule(NamedTuple):
    """
    One row of the table.

    Attributes:
        seen: pattern to look for in the server's text; `{table}` stands for the table's name.
        kind: our error.
        says: our text; `{table}` as above, `{reason}` is the server's own.
        hint: the way out.
    """

    name: str
    seen: str
    kind: _Kind
    says: str
    hint: str | None = None


RULES = (
    # first those whose text holds bytes of the rows themselves: those bytes must not match another entry
    Rule(
        "too_large",
        r"size too large|DoNotRetryIOException: Cell(?:\[| with size)|RequestTooBigException|RowTooBigException",
        WriteRejectedError,
        "cell too large: {reason}",
        "set the store's `max_cell_bytes` to refuse such cells before they are sent",
    ),
    # the server that was asked no longer has the row: its table was split meanwhile
    Rule(
        "moved",
        r"FailedSanityCheckException: Requested row out of range",
        StoreUnavailableError,
        "not available: {reason}",
    ),
    Rule("insane", r"FailedSanityCheckException", WriteRejectedError, "refused: {reason}"),
    Rule(
        "no_family",
        r"NoSuchColumnFamilyException",
        partial(WriteRejectedError, code="unknown_family"),
        'no such family in table "{table}": {reason}',
        "add it with 'ingest table apply', or allow it with `families.on_unknown: create` and `thrift2`",
    ),
    # an answer to a batch has the name of the table in the place of the exception; one of Thrift2 has nothing else
    Rule(
        "no_table",
        r"TableNotFoundException|NamespaceNotFoundException|Failed \d+ actions?: {table}: \d+ times?|\A(?!\Z){table}\Z",
        NoTableError,
        'there is no table "{table}"',
        "create it with 'ingest table apply'",
    ),
    Rule(
        "disabled",
        r"TableNotEnabledException|TableNotEnabled|is disabled",
        StoreRefusedError,
        'table "{table}" is disabled',
        "enable '{table}' in the hbase shell",
    ),
    Rule(
        "read_only",
        r"region is read only",
        StoreRefusedError,
        'table "{table}" is read only',
        "alter '{table}', READONLY => false in the hbase shell",
    ),
    Rule(
        "quota",
        r"SpaceLimitingException|QuotaExceededException",
        StoreRefusedError,
        "a quota of space is used up: {reason}",
    ),
    Rule(
        "denied",
        r"AccessDeniedException|AccessControlException",
        StoreRefusedError,
        "access denied: {reason}",
        "the user of the Thrift server needs the rights R, W and C on the table",
    ),
    Rule(
        "cluster",
        r"FatalConnectionException|BadAuthException|WrongVersionException|Unsupported(?:CellCodec|CompressionCodec|Crypto)"
        r"|UnknownServiceException|UnknownProtocolException|CorruptHFileException|FallbackDisallowedException"
        r"|java\.lang\.(?:NoSuch\w+|NoClassDefFound|OutOfMemory)Error",
        StoreRefusedError,
        "the Thrift server and its cluster are incompatible: {reason}",
    ),
    Rule(
        "busy",
        r"RegionTooBusyException|StoreTooBusyException|CallQueueTooBigException|CallDroppedException|ThrottlingException"
        r"|OverloadedException|ServerTooBusyException|Busy Server!",
        StoreBusyError,
        "busy: {reason}",
    ),
    # not about the rows, though the server calls some of these final
    Rule(
        "away",
        r"NotServingRegionException|RegionServerStoppedException|RegionServerAbortedException|ServerNotRunningYet"
        r"|PleaseHoldException|MasterNotRunning|CallTimeoutException|ConnectException|ConnectionClosed|SocketTimeout"
        r"|RegionOpeningException|RegionMovedException|NoServerForRegion|MasterStopped|RegionOfflineException"
        r"|WrongRegionException|Operation timeout exceeded|StoppedRpcClientException|NotAllMetaRegionsOnline"
        r"|UnknownHostException",
        StoreUnavailableError,
        "not available: {reason}",
    ),
    Rule(
        "final",
        # but not their parent, DoNotRetryIOException: a cluster also uses it alone for problems of its own
        r"IllegalArgument|InvalidFamilyOperation|ConstraintException|CoprocessorException",
        WriteRejectedError,
        "refused: {reason}",
    ),
    Rule("other", r"", StoreUnavailableError, "not available: {reason}"),
)

_FRAME = re.compile(r"^\s+at .*\n?", re.MULTILINE)  # a place in Java's code, not a reason
_WRAPPING = re.compile(r"^\S*RetriesExhaustedWithDetailsException: ")


def translated(
    error: Exception, *, table: str | None = None, where: str = "the Thrift server", has_answered: bool = True
) -> IngestError:
    """
    Our error for one of the driver's; to be raised `from` it.

    Args:
        error: one of `DRIVER_ERRORS` or `CONNECTION_ERRORS`.
        table: what the call was about.
        where: host and port, for messages about the connection.
        has_answered: whether a call was ever answered there; else it may not be a Thrift server, or use another
            protocol.
    """
    if isinstance(error, TApplicationException):
        if error.type != TApplicationException.INTERNAL_ERROR:
            return StoreRefusedError(
                f"{where} does not know the calls of HBase's Thrift server: {text_of(error)}",
                hint="is it a Thrift2 server, or an old one?",
            )
        # not about a row: rows that make a Thrift server fail are found before they are sent
        return StoreRefusedError(f"the Thrift server could not process a call: {text_of(error)}")
    if isinstance(error, AlreadyExists):
        return StoreError(f'table "{table}" exists')
    if isinstance(error, IllegalArgument | HBaseIOError):
        return error_of(text_of(error), table or "")
    return _connection_error(error, where, None if has_answered else _DO_THEY_MATCH)


def error_of(text: str, table: str) -> IngestError:
    """Our error for a server's text."""
    rule = rule_for(text, table)
    reason = _WRAPPING.sub("", text).partition("\n")[0][:_MAX_REASON_CHARS] or "no reason given"
    hint = rule.hint.replace("{table}", table) if rule.hint else None
    return rule.kind(rule.says.replace("{table}", table).replace("{reason}", reason), hint=hint)


def schema_error(error: IngestError) -> IngestError:
    """The error for a change of tables rather than a write: a rejection is one of the configuration."""
    return SchemaError(error.message, hint=error.hint) if isinstance(error, WriteRejectedError) else error


def rule_for(text: str, table: str) -> Rule:
    """The first rule whose pattern is in the text; the last matches any text."""
    words = _FRAME.sub("", text)
    return next(rule for rule in RULES if re.search(rule.seen.replace("{table}", re.escape(table)), words))


def read_error(error: IngestError) -> IngestError:
    """
    The error for a read rather than a write: a missing table is not found, and nothing is rejected.

    Reads are always the same few calls, so a server that cannot process one is faulty itself; the pipeline blocks.
    """
    if isinstance(error, StoreRefusedError) and error.code == "no_table":
        return NotFoundError(error.message, hint=error.hint)
    if isinstance(error, WriteRejectedError):
        return StoreRefusedError(error.message, hint=error.hint)
    return error


def text_of(error: Exception) -> str:
    """What the server said, as text; lines after the first are a stack trace."""
    message = getattr(error, "message", None)
    if message is None:
        message = str(error)
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _connection_error(error: Exception, where: str, hint: str | None) -> StoreUnavailableError:
    if isinstance(error, TTransportException) and error.type == TTransportException.NOT_OPEN:
        return StoreUnavailableError(
            f"no server can be reached at {where}", hint="is the HBase Thrift server running there?"
        )
    if isinstance(error, TimeoutError):
        return StoreUnavailableError(f"no answer from {where} in time; the call may still execute", hint=hint)
    if isinstance(error, TProtocolException):
        return StoreUnavailableError(
            f"{where} does not answer as a Thrift server would: {text_of(error)}", hint=_DO_THEY_MATCH
        )
    return StoreUnavailableError(
        f"the connection to {where} broke: {text_of(error) or type(error).__name__}", hint=hint
    )
