"""
Exceptions of HBase's servers, and our errors for them.

A server names the exception's Java class in three places: in the header of an answer (ExceptionResponse of RPC.proto),
for a region's batch, and for one row of it (RegionActionResult and ResultOrException of Client.proto). The class
decides, not the text, which may contain bytes of a row. Three classes have several meanings, which differ only in the
start of the text. How long a throttled client should wait is said only in the text of RpcThrottlingException.

Sources: the exceptions of the package `org.apache.hadoop.hbase` and its packages `exceptions`, `ipc`, `quotas`,
`regionserver` and `security`, version 2.6; what a real server answers in each case is in the integration tests.
"""

import re

from ingest.api import IngestError, StoreBusyError, StoreRefusedError, StoreUnavailableError
from sinks.hbase.errors import Kind, error_of_kind, unclear_refusal

_CLASSES = {
    name: kind
    for kind, names in {
        Kind.MOVED: "NotServingRegionException RegionMovedException RegionOpeningException WrongRegionException "
        "RegionServerStoppedException RegionServerAbortedException ServerNotRunningYetException "
        "RegionOfflineException MasterNotRunningException PleaseHoldException MasterStoppedException",
        Kind.BUSY: "RegionTooBusyException CallQueueTooBigException CallDroppedException "
        "RpcThrottlingException ThrottlingException ServerTooBusyException",
        Kind.NO_FAMILY: "NoSuchColumnFamilyException",
        Kind.REJECTED: "FailedSanityCheckException IllegalArgumentException InvalidFamilyOperationException "
        "ConstraintException CoprocessorException",
        Kind.TOO_LARGE: "RequestTooBigException RowTooBigException",
        Kind.NO_TABLE: "TableNotFoundException NamespaceNotFoundException",
        Kind.DISABLED: "TableNotEnabledException",
        Kind.REPLICATED: "InvalidMutationDurabilityException",
        Kind.QUOTA: "SpaceLimitingException QuotaExceededException",
        Kind.DENIED: "AccessDeniedException AccessControlException",
        Kind.INCOMPATIBLE: "FatalConnectionException BadAuthException WrongVersionException "
        "UnsupportedCellCodecException UnsupportedCompressionCodecException UnsupportedCryptoException "
        "UnknownServiceException UnknownProtocolException FallbackDisallowedException NoSuchMethodError "
        "NoSuchFieldError NoClassDefFoundError OutOfMemoryError CorruptHFileException",
        Kind.SCANNER_GONE: "UnknownScannerException LeaseException OutOfOrderScannerNextException "
        "ScannerResetException",
    }.items()
    for name in names.split()
}
_TEXTS = (
    # class, start of the text, meaning
    ("FailedSanityCheckException", "Requested row out of range", Kind.MOVED),
    ("FailedSanityCheckException", "Timestamp for KV out of range", Kind.TOO_NEW),
    ("DoNotRetryIOException", "Cell", Kind.TOO_LARGE),
    ("DoNotRetryIOException", "Field is not a long", Kind.REJECTED),
    ("DoNotRetryIOException", "region is read only", Kind.READ_ONLY),
    ("IOException", "region is read only", Kind.READ_ONLY),
)


_THROTTLES = frozenset(["RpcThrottlingException", "ThrottlingException"])
_WAIT = re.compile(
    r" - wait (?:(?P<hours>\d+)hrs?, )?(?:(?P<minutes>\d+)mins?, )?(?:(?P<seconds>\d+(?:\.\d+)?)sec(?:, )?)?"
    r"(?:(?P<ms>\d+)ms)?"
)
"""As `RpcThrottlingException` writes a time: "1mins, 2.50sec", and since HBASE-27799 "1min, 2sec, 500ms"."""

REPEATED = frozenset([Kind.MOVED, Kind.UNAVAILABLE, Kind.SCANNER_GONE])
"""Look up the region again, and repeat the call."""


class ConnectionLostError(Exception):
    """
    A server cannot be reached or gave no answer; a call that was sent may still be executed.

    Attributes:
        hint: what to do; None if it depends on other servers.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class LoginError(StoreRefusedError):
    """There is no ticket for the principal of the store, or an HBase server refuses it; the message says why."""

    code = "kerberos_failed"
    remedy = "Correct the principals, the keytab or `qop` as the message says; a new keytab needs no restart."


class CredentialsError(LoginError):
    """There is no ticket for the principal of the service; the same for all servers."""


class RemoteError(Exception):
    """
    An exception of a server.

    Args:
        class_name: of the Java class, with its package.
        trace: the exception's text, and then lines of its stack trace.
        is_overloaded: the server says that it is overloaded, whatever the exception (HBASE-26807).

    Attributes:
        wait_s: how long the server says to wait before the call is repeated; None if it does not say.
    """

    def __init__(self, class_name: str, trace: str, *, is_overloaded: bool = False) -> None:
        self.name = class_name.rpartition(".")[2].rpartition("$")[2]
        first = trace.partition("\n")[0].strip()
        self.text = first.removeprefix(f"{class_name}:").strip()
        super().__init__(f"{self.name}: {self.text}" if self.text else self.name)
        found = next((kind for name, text, kind in _TEXTS if name == self.name and self.text.startswith(text)), None)
        self.kind = found or _CLASSES.get(self.name, Kind.BUSY if is_overloaded else Kind.UNAVAILABLE)
        self.wait_s = _requested_wait_s(self.text) if self.name in _THROTTLES else None

    @property
    def is_unclear(self) -> bool:
        """
        Whether it may be the fault of a row.

        HBase and its coprocessors raise the class with any text, for rows, regions and the cluster.
        """
        return self.name == "DoNotRetryIOException" and self.kind is Kind.UNAVAILABLE

    @property
    def reason(self) -> str:
        """For a metric: the name of a known exception, else that of the flag of an overloaded server."""
        return self.name if self.name in _CLASSES else "server_overloaded"


def store_error(error: RemoteError, table: str) -> IngestError:
    """Our error for a server's exception; to be raised `from` it."""
    found = error_of_kind(error.kind, table, str(error))
    if isinstance(found, StoreBusyError):
        found.has_waited = True
    return found


def write_error(error: RemoteError, table: str) -> IngestError:
    """The error of rows that a server has refused; as `store_error`."""
    return unclear_refusal(str(error)) if error.is_unclear else store_error(error, table)


def unavailable(reason: Exception | None, table: str) -> IngestError:
    """Our error for an operation that was not completed in time; to be raised `from` its reason."""
    if isinstance(reason, RemoteError):
        return store_error(reason, table)
    if isinstance(reason, StoreUnavailableError):
        found = StoreUnavailableError(reason.message, code=reason.code, hint=reason.hint)
        found.is_starting = reason.is_starting
        return found
    return StoreUnavailableError(str(reason) if reason else f'table "{table}" is not available')


def _requested_wait_s(text: str) -> float | None:
    found = _WAIT.search(text)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds, milliseconds = (float(group or 0) for group in found.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
