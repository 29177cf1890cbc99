"""
Maps errors of a Thrift server to ours.

HBase answers with the text of a Java stack trace, so rules match the names of exceptions in that text; each rule has
a `Kind`, which decides our error. HBase does not say which row was rejected.

HBase also calls exceptions non-retriable that are not about a row, as for a table that is read only or over its quota.
So the rules decide: an exception about rows rejects them; one about the table, permissions or the cluster blocks until
an operator acts; an unknown exception counts as unavailable, and blocks too. An unknown DoNotRetryIOException may be
about rows or about their region: see `ingest.api.UnclearRefusalError`.

The unit tests have a text for each rule, captured from a live HBase unless the README beside the texts says otherwise.
"""

import re
import struct
from collections.abc import Callable
from typing import NamedTuple

from thriftpy2.protocol.cybin.cybin import ProtocolError as CythonProtocolError
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import TTransportException

from ingest.api import IngestError, StoreRefusedError, StoreUnavailableError
from sinks.hbase.errors import Kind, TableExistsError, error_of_kind
from sinks.hbase.thrift.thrift1 import AlreadyExists, HBaseIOError, IllegalArgument

DRIVER_ERRORS = (HBaseIOError, IllegalArgument, AlreadyExists, TApplicationException)
"""Errors that the server returns; the connection can still be used."""

CONNECTION_ERRORS = (TTransportException, TProtocolException, CythonProtocolError, OSError, EOFError)
"""Errors after which the connection is broken, or may still deliver an old answer."""

UNREADABLE_ANSWERS = (MemoryError, SystemError, RecursionError, LookupError, ValueError, struct.error)
"""Errors of the Thrift library for an answer that is not one, such as a length that is negative or too large."""

_DO_THEY_MATCH = (
    "do `transport`, `protocol` and `port` match the server's? The port of a master or region server belongs into "
    "`bootstrap_servers`"
)


class Rule(NamedTuple):
    """
    One rule from a server's text to its meaning.

    Attributes:
        pattern: searched in the server's text; `{table}` stands for the table's name.
        kind: what it means.
    """

    name: str
    pattern: str
    kind: Kind


UNCLEAR = "unclear"
"""Name of the rule for exceptions that may be the fault of a row."""
RULES = (
    # first those whose text contains bytes of rows, which must not match another rule
    Rule(
        "too_large",
        r"size too large|DoNotRetryIOException: Cell(?:\[| with size)|RequestTooBigException|RowTooBigException",
        Kind.TOO_LARGE,
    ),
    # the region was split or moved after the row was located
    Rule("moved", r"FailedSanityCheckException: Requested row out of range", Kind.MOVED),
    Rule("timestamp", r"FailedSanityCheckException: Timestamp for KV out of range", Kind.TOO_NEW),
    Rule("sanity", r"FailedSanityCheckException", Kind.REJECTED),
    Rule("no_family", r"NoSuchColumnFamilyException", Kind.NO_FAMILY),
    # an answer to a batch has the table's name in place of the exception; one of Thrift2 has only the name
    Rule(
        "no_table",
        r"TableNotFoundException|NamespaceNotFoundException|Failed \d+ actions?: {table}: \d+ times?|\A(?!\Z){table}\Z",
        Kind.NO_TABLE,
    ),
    Rule("disabled", r"TableNotEnabledException|TableNotEnabled|is disabled", Kind.DISABLED),
    Rule("read_only", r"region is read only", Kind.READ_ONLY),
    Rule("replicated", r"InvalidMutationDurabilityException", Kind.REPLICATED),
    Rule("quota", r"SpaceLimitingException|QuotaExceededException", Kind.QUOTA),
    Rule("denied", r"AccessDeniedException|AccessControlException", Kind.DENIED),
    Rule(
        "cluster",
        r"FatalConnectionException|BadAuthException|WrongVersionException|Unsupported(?:CellCodec|CompressionCodec|Crypto)"
        r"|UnknownServiceException|UnknownProtocolException|CorruptHFileException|FallbackDisallowedException"
        r"|java\.lang\.(?:NoSuch\w+|NoClassDefFound|OutOfMemory)Error",
        Kind.INCOMPATIBLE,
    ),
    Rule(
        "busy",
        r"RegionTooBusyException|CallQueueTooBigException|CallDroppedException|ThrottlingException"
        r"|ServerTooBusyException|Busy Server!",
        Kind.BUSY,
    ),
    # not about rows, although HBase calls some of these non-retriable
    Rule(
        "unavailable",
        r"NotServingRegionException|RegionServerStoppedException|RegionServerAbortedException|ServerNotRunningYet"
        r"|PleaseHoldException|MasterNotRunning|CallTimeoutException|ConnectException|ConnectionClosed|SocketTimeout"
        r"|RegionOpeningException|RegionMovedException|NoServerForRegion|MasterStopped|RegionOfflineException"
        r"|WrongRegionException|Operation timeout exceeded|StoppedRpcClientException|NotAllMetaRegionsOnline"
        r"|UnknownHostException|Zookeeper \w+ could not be completed|Client already closed",
        Kind.UNAVAILABLE,
    ),
    Rule(
        "final",
        # not their superclass DoNotRetryIOException, which is also raised for problems of the cluster
        r"IllegalArgument|InvalidFamilyOperation|ConstraintException|CoprocessorException",
        Kind.REJECTED,
    ),
    # HBase and its coprocessors raise it with any text, for rows, regions and the cluster
    Rule(UNCLEAR, r"DoNotRetryIOException", Kind.UNAVAILABLE),
    Rule("other", r"", Kind.UNAVAILABLE),
)

_FRAME = re.compile(r"^\s+at .*\n?", re.MULTILINE)  # of a Java stack trace
_WRAPPING = re.compile(r"^\S*RetriesExhaustedWithDetailsException: ")
_ATTEMPTS = re.compile(r"RetriesExhaustedException: Failed after attempts=\d+, exceptions:\s*\Z")
"""The first line of a text that lists attempts, as for all writes with HBase 3; each has a line of its own."""
_ATTEMPT = re.compile(r"^\S+Z, (?:.*?, )?((?:\w+\.)+\w+(?:Exception|Error)\b.*)", re.MULTILINE)
_TWICE = re.compile(r"^(\S+: )\1")


def translated(
    error: Exception,
    *,
    table: str | None = None,
    where: str = "the Thrift server",
    has_answered: bool = True,
    instead: Callable[[], str | None] = lambda: None,
) -> IngestError:
    """
    Our error for one of the driver's; to be raised `from` it.

    Args:
        error: one of `DRIVER_ERRORS`, `CONNECTION_ERRORS` or `UNREADABLE_ANSWERS`.
        table: of the call.
        where: host and port, for messages about the connection.
        has_answered: whether the server has ever answered a call; if not, it may not be a Thrift server, or it may use
            another protocol.
        instead: what another server is that answers there, for a connection that has never had an answer.
    """
    if isinstance(error, TApplicationException):
        if error.type != TApplicationException.INTERNAL_ERROR:
            return StoreRefusedError(
                f"{where} does not know the calls of HBase's Thrift server: {text_of(error)}",
                hint="is it a Thrift2 server, or an old one?",
            )
        # not about a row: rows that make a Thrift server fail are rejected before they are sent
        return StoreRefusedError(f"the Thrift server could not process a call: {text_of(error)}")
    if isinstance(error, AlreadyExists):
        return TableExistsError(f'table "{table}" exists')
    if isinstance(error, IllegalArgument | HBaseIOError):
        return error_of(text_of(error), table or "")
    return _connection_error(error, where, None if has_answered else _DO_THEY_MATCH, instead)


def error_of(text: str, table: str) -> IngestError:
    """Our error for a server's text."""
    kind = rule_for(text, table).kind
    return error_of_kind(kind, table, reason_of(text) or "no reason given")


def reason_of(text: str) -> str:
    """The line of a server's text that says why; that of the last attempt, if it lists several."""
    first, _, rest = text.partition("\n")
    if _ATTEMPTS.search(first) and (attempts := _ATTEMPT.findall(rest)):
        first = attempts[-1]
    return _TWICE.sub(r"\1", _WRAPPING.sub("", first))


def rule_for(text: str, table: str) -> Rule:
    """The first rule whose pattern is found in the text; the last rule matches any text."""
    text = _FRAME.sub("", text)
    return next(rule for rule in RULES if re.search(rule.pattern.replace("{table}", re.escape(table)), text))


def text_of(error: Exception) -> str:
    """The server's text; lines after the first are a stack trace."""
    message = getattr(error, "message", None)
    if message is None:
        message = str(error)
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _connection_error(
    error: Exception, where: str, hint: str | None, instead: Callable[[], str | None]
) -> StoreUnavailableError:
    if isinstance(error, TTransportException) and error.type == TTransportException.NOT_OPEN:
        return StoreUnavailableError(
            f"no server can be reached at {where}", hint="is the HBase Thrift server running there?"
        )
    if hint is not None and (found := instead()) is not None:
        hint = f"{found}; write host and port of HBase's Thrift server"
    if isinstance(error, TimeoutError):
        return StoreUnavailableError(f"no answer from {where} in time; the call may still execute", hint=hint)
    if isinstance(error, (TProtocolException, CythonProtocolError, *UNREADABLE_ANSWERS)):
        return StoreUnavailableError(
            f"{where} does not answer as a Thrift server: {text_of(error) or type(error).__name__}",
            hint=hint or _DO_THEY_MATCH,
        )
    return StoreUnavailableError(
        f"the connection to {where} broke: {text_of(error) or type(error).__name__}", hint=hint
    )
