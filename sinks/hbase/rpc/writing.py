"""
Writes mutations: sends calls, and repeats those whose region has moved or whose server is busy.

A server runs the calls of a connection in parallel. So a row key is in one unanswered call at a time: mutations of one
row are sent one after the other, and an error is raised only after all calls were answered. Calls without a common row
key may be in flight together; while a server executes one, the next is on its way.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.api import (
    IngestError,
    Mutation,
    Put,
    StoreError,
    TimestampRefusedError,
    UnclearRefusalError,
    WriteRejectedError,
)
from sinks.hbase.errors import Kind
from sinks.hbase.protobuf import WireError
from sinks.hbase.refusals import RefusalError
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.division import Request, requests_of, without_conflicts
from sinks.hbase.rpc.errors import REPEATED, ConnectionLostError, RemoteError, write_error
from sinks.hbase.rpc.multi import MAX_ROW_BYTES, BatchFailure, MultiEncoder, failures
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region
from sinks.hbase.rpc.repeating import CALL_ERRORS, RepeatedCalls
from sinks.hbase.rpc.stream import Address

MAX_IN_FLIGHT = 2
"""
Calls to one server that are unanswered at a time. While the server executes one, the next is on its way. One task
writes 1.1 times as fast as with one call; four calls of half the size were faster in some runs and slower in others.
"""
_REJECTIONS = frozenset([Kind.NO_FAMILY, Kind.REJECTED, Kind.TOO_LARGE, Kind.TOO_NEW])


class Writer:
    """
    Writes to the tables of a cluster; called by one thread.

    Args:
        calls: to the cluster.
        max_cell_bytes: larger cells are refused before anything is sent.
    """

    def __init__(self, calls: RepeatedCalls, *, max_cell_bytes: int) -> None:
        self._calls = calls
        self._cells = CellEncoder(max_cell_bytes)
        self._multi = MultiEncoder()

    def apply(self, table: str, mutations: Sequence[Mutation], attempts: Attempts) -> None:
        """
        Make mutations durable, those of one row in order.

        Raises:
            WriteRejectedError: some can never be written. If one of these was found before anything was sent, nothing
                was; else any of the others may have been written.
            StoreError: as `errors` translates the exception of a server.
        """
        encoded = self._encoded(mutations)
        for indexes in without_conflicts(mutations):
            write = _Write(self._calls, self._multi, table, mutations, encoded, list(indexes))
            while write.remaining:
                write.send(attempts.deadline_s)
                if write.failure is not None:
                    self._calls.wait_after(write.failure, table, attempts, is_write=True)
            write.check()

    def _encoded(self, mutations: Sequence[Mutation]) -> list[bytes]:
        put, delete = self._cells.put, self._cells.delete
        try:
            encoded = [put(each) if isinstance(each, Put) else delete(each) for each in mutations]
        except RefusalError:
            pass
        else:
            if max(map(len, encoded), default=0) <= MAX_ROW_BYTES:
                return encoded
        refused: dict[int, str] = {}
        for index, mutation in enumerate(mutations):
            try:
                row = put(mutation) if isinstance(mutation, Put) else delete(mutation)
            except RefusalError as refusal:
                refused[index] = str(refusal)
            else:
                if len(row) > MAX_ROW_BYTES:
                    refused[index] = f"row of {len(row)} bytes; at most {MAX_ROW_BYTES} are sent"
        raise WriteRejectedError(next(iter(refused.values())), indexes=list(refused))


class _Sent(NamedTuple):
    """A call that waits for its answer."""

    request: Request
    connection: Connection
    call_id: int


@dataclass(slots=True)
class _Write:
    """
    Mutations of one table that can be sent in any order.

    Attributes:
        encoded: the cells of all mutations of the caller.
        remaining: indexes of those that were neither written nor rejected.
        failure: of the last attempt; None if nothing remains. One that ends the operation comes before the longest wait
            for a busy server, and that before all others.
        rejected: index -> why HBase rejects the mutation.
        rejected_batch: why it rejects a region's batch, if it does not say because of which mutation.
        lost_servers: those whose connection broke in this attempt.
    """

    calls: RepeatedCalls
    multi: MultiEncoder
    table: str
    mutations: Sequence[Mutation]
    encoded: Sequence[bytes]
    remaining: list[int]
    failure: Exception | None = None
    rejected: dict[int, RemoteError] = field(default_factory=dict)
    rejected_batch: RemoteError | None = None
    lost_servers: set[Address] = field(default_factory=set)

    def send(self, deadline_s: float) -> None:
        """Send what remains, to each server at most `MAX_IN_FLIGHT` calls at a time, and receive all answers."""
        self.failure = None
        self.lost_servers.clear()
        try:
            requests = self._requests(deadline_s)
        except CALL_ERRORS as error:
            self.failure = error
            return
        sent: deque[_Sent] = deque()
        may_send = deque([*requests] * MAX_IN_FLIGHT)
        try:
            while may_send or sent:
                if not may_send:
                    self._receive(sent[0], deadline_s)
                    may_send.append(sent.popleft().request.server)
                waiting = requests[may_send.popleft()]
                while waiting:
                    if (one := self._send(waiting.popleft(), deadline_s)) is not None:
                        sent.append(one)
                        break
        finally:
            for one in sent:  # interrupted: no later call may meet these on a server
                one.connection.abort()

    def check(self) -> None:
        """
        Check that none was rejected.

        Raises:
            IngestError: of the batch that was rejected without a row; else of the first row, with all that were
                rejected for the same reason.
        """
        if self.rejected_batch is not None:
            raise write_error(self.rejected_batch, self.table) from self.rejected_batch
        if not self.rejected:
            return
        first = self.rejected[min(self.rejected)]
        error = write_error(first, self.table)
        if isinstance(error, WriteRejectedError | UnclearRefusalError | TimestampRefusedError):
            error.indexes = sorted(index for index, other in self.rejected.items() if other.kind is first.kind)
        raise error from first

    def _requests(self, deadline_s: float) -> dict[Address, deque[Request]]:
        """The calls for what remains, by server; afterwards nothing remains but rows whose region is hidden."""
        regions = self.calls.regions.of(self.table, deadline_s)
        by_region: dict[bytes, tuple[Region, list[int]]] = {}
        hidden = []
        for index in self.remaining:
            region = regions.of(self.mutations[index].row)
            if region is None or region.server is None:
                hidden.append(index)
            else:
                by_region.setdefault(region.name, (region, []))[1].append(index)
        self.remaining = []
        if hidden:
            self._again(hidden, ConnectionLostError(f'a region of table "{self.table}" is on no server now'))
        by_server: dict[Address, deque[Request]] = {}
        for request in requests_of(by_region.values(), self.encoded):
            by_server.setdefault(request.server, deque()).append(request)
        return by_server

    def _send(self, request: Request, deadline_s: float) -> _Sent | None:
        indexes = request.indexes
        if request.server in self.lost_servers:
            self.remaining += indexes
            return None
        message = self.multi.request(request.batches, self.mutations)
        cells = b"".join([self.encoded[index] for index in indexes])
        try:
            connection = self.calls.cluster.connection(request.server, CLIENT_SERVICE, deadline_s)
            return _Sent(request, connection, connection.send("Multi", message, cells, deadline_s))
        except (ConnectionLostError, StoreError) as error:  # the latter: the server may not be connected to
            self._lost(request, error)
        return None

    def _receive(self, sent: _Sent, deadline_s: float) -> None:
        request = sent.request
        try:
            answer = sent.connection.receive(sent.call_id, deadline_s)
            found = failures(answer.message, request.batches)
        except RemoteError as error:
            found = [BatchFailure(error, request.indexes, is_of_region=True)]
        except (ConnectionLostError, WireError) as error:
            self._lost(request, error)
            return
        for failure in found:
            self._failed(failure)

    def _failed(self, failure: BatchFailure) -> None:
        """A server answered with an exception."""
        error, indexes, is_of_region = failure
        if error.kind not in _REJECTIONS and not error.is_unclear:
            self._again(indexes, error)
        elif is_of_region and len(indexes) > 1:
            self.rejected_batch = error
        else:
            self.rejected |= dict.fromkeys(indexes, error)

    def _lost(self, request: Request, error: Exception) -> None:
        """The whole call failed, was not sent, or has an unknown outcome."""
        self.lost_servers.add(request.server)
        self._again(request.indexes, error)

    def _again(self, indexes: Sequence[int], error: Exception) -> None:
        self.remaining += indexes
        if not _is_busy(error):
            self.calls.regions.forget(self.table)
        if self.failure is None or _rank(error) >= _rank(self.failure):
            self.failure = error


def _is_busy(error: Exception) -> bool:
    return isinstance(error, RemoteError) and error.kind is Kind.BUSY


def _rank(error: Exception) -> tuple[bool, bool, float]:
    """Of several failures, the last one of the highest rank decides about the next attempt."""
    if not isinstance(error, RemoteError):
        return isinstance(error, IngestError), False, 0.0
    is_busy = error.kind is Kind.BUSY
    return not is_busy and error.kind not in REPEATED, is_busy, error.wait_s or 0.0
