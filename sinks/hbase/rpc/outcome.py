"""What became of the mutations of some calls."""

from ingest.api import IngestError, StoreError, TimestampRefusedError, UnclearRefusalError, WriteRejectedError
from sinks.hbase.errors import Kind
from sinks.hbase.rpc.division import Request
from sinks.hbase.rpc.errors import REPEATED, RemoteError, write_error
from sinks.hbase.rpc.multi import BatchFailure
from sinks.hbase.rpc.stream import Address

_REJECTIONS = frozenset([Kind.NO_FAMILY, Kind.REJECTED, Kind.TOO_LARGE, Kind.TOO_NEW])


class Outcome:
    """
    What became of mutations.

    Attributes:
        again: indexes of those to be sent again.
        busy: why a server refuses some of these for now: the exception that says the longest wait, or the last one.
        has_moved: some are to be sent again for another reason, so regions are looked up first.
        refused: index -> why HBase rejects the mutation.
        rejected_batch: why HBase rejects a region's batch, if it does not say because of which mutation.
        fatal: the error that ends the operation, whatever became of other mutations.
        reason: of the last failure.
        lost_servers: those whose connection broke.
    """

    def __init__(self) -> None:
        self.again: list[int] = []
        self.busy: RemoteError | None = None
        self.has_moved = False
        self.refused: dict[int, RemoteError] = {}
        self.rejected_batch: RemoteError | None = None
        self.fatal: RemoteError | StoreError | None = None
        self.reason: Exception | None = None
        self.lost_servers: set[Address] = set()

    def lost(self, request: Request, error: Exception | None = None) -> None:
        """The whole call failed, was not sent, or has an unknown outcome."""
        for batch in request.batches:
            self.again += batch.indexes
        self.has_moved = True
        self.lost_servers.add(request.server)
        self.reason = error or self.reason

    def failed(self, failure: BatchFailure) -> None:
        """A server answered with an exception."""
        error, indexes = failure.error, failure.indexes
        self.reason = error
        if error.kind in REPEATED and not error.is_unclear:
            self.again += indexes
            self.has_moved = True
        elif error.kind is Kind.BUSY:
            self.again += indexes
            if self.busy is None or (error.wait_s or 0.0) >= (self.busy.wait_s or 0.0):
                self.busy = error
        elif error.kind not in _REJECTIONS and not error.is_unclear:
            self.fatal = error
        elif failure.is_of_region and len(indexes) > 1:
            self.rejected_batch = error
        else:
            self.refused |= dict.fromkeys(indexes, error)


def rejection(refused: dict[int, RemoteError], table: str) -> IngestError:
    """The error for rejected rows; it lists those that were rejected for the same reason as the first."""
    index = min(refused)
    first = refused[index]
    error = write_error(first, table)
    if isinstance(error, WriteRejectedError | UnclearRefusalError | TimestampRefusedError):
        error.indexes = sorted(index for index, other in refused.items() if other.kind is first.kind)
    return error
