"""
Writes mutations: sends calls, and repeats those whose region has moved or whose server is busy.

A server runs the calls of a connection in parallel. So a row key is in one unanswered call at a time: mutations of one
row are sent one after the other, and an error is raised only after all calls were answered. Calls without a common row
key may be in flight together; while a server executes one, the next is on its way.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ingest.api import Mutation, Put, StoreError, WriteRejectedError
from sinks.hbase.errors import Kind
from sinks.hbase.refusals import RefusalError
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.division import Request, requests_of, without_repeated_rows
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError, store_error, unavailable, write_error
from sinks.hbase.rpc.multi import MAX_ROW_BYTES, BatchFailure, MultiEncoder, failures
from sinks.hbase.rpc.outcome import Outcome, rejection
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region, RegionCache
from sinks.hbase.rpc.stream import Address
from sinks.hbase.rpc.wire import WireError

MAX_IN_FLIGHT = 2
"""
Calls to one server that are unanswered at a time. While the server executes one, the next is on its way. One task
writes 1.1 times as fast as with one call; four calls of half the size were faster in some runs and slower in others.
"""


class _Work(NamedTuple):
    """
    The mutations of one `apply`.

    Attributes:
        encoded: their cells.
    """

    table: str
    mutations: Sequence[Mutation]
    encoded: Sequence[bytes]


class _Sent(NamedTuple):
    """A call that waits for its answer."""

    request: Request
    connection: Connection
    call_id: int


class Writer:
    """
    Writes to the tables of a cluster; called by one thread.

    Args:
        max_cell_bytes: larger cells are refused before anything is sent.
    """

    def __init__(self, cluster: Cluster, regions: RegionCache, *, max_cell_bytes: int) -> None:
        self._cluster = cluster
        self._regions = regions
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
        work = _Work(table, mutations, self._encoded(mutations))
        for indexes in without_repeated_rows(mutations):
            self._write(work, indexes, attempts)

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

    def _write(self, work: _Work, indexes: Sequence[int], attempts: Attempts) -> None:
        table = work.table
        refused: dict[int, RemoteError] = {}
        rejected_batch: RemoteError | None = None
        while indexes:
            outcome = self._attempt(work, indexes, attempts.deadline_s)
            if isinstance(outcome.fatal, RemoteError):
                raise store_error(outcome.fatal, table) from outcome.fatal
            if outcome.fatal is not None:
                self._regions.forget(table)  # an operator may correct where its regions are
                raise outcome.fatal
            refused |= outcome.refused
            rejected_batch = rejected_batch or outcome.rejected_batch
            indexes = outcome.again
            if indexes:
                self._before_next(outcome, table, attempts)
        if rejected_batch is not None:
            raise write_error(rejected_batch, table) from rejected_batch
        if refused:
            raise rejection(refused, table)

    def _before_next(self, outcome: Outcome, table: str, attempts: Attempts) -> None:
        """Wait before the next attempt, or raise."""
        if outcome.has_moved:
            self._regions.forget(table)
        busy = outcome.busy
        if busy is not None:
            if not attempts.wait_for_busy(busy.reason, busy.wait_s):
                raise store_error(busy, table) from busy
        elif not attempts.pause():
            raise unavailable(outcome.reason, table) from outcome.reason

    def _attempt(self, work: _Work, indexes: Sequence[int], deadline_s: float) -> Outcome:
        outcome = Outcome()
        try:
            by_region = self._by_region(work, indexes, outcome, deadline_s)
        except (ConnectionLostError, RemoteError, WireError) as error:
            outcome.again, outcome.reason = list(indexes), error
            if isinstance(error, RemoteError) and error.kind is Kind.BUSY:
                outcome.busy = error
            else:
                self._cluster.forget_meta()
            return outcome
        by_server: dict[Address, deque[Request]] = {}
        for request in requests_of(by_region, work.encoded):
            by_server.setdefault(request.server, deque()).append(request)
        self._exchange(by_server, work, outcome, deadline_s)
        return outcome

    def _exchange(
        self, by_server: Mapping[Address, deque[Request]], work: _Work, outcome: Outcome, deadline_s: float
    ) -> None:
        """Send all calls, of each server at most `MAX_IN_FLIGHT` at a time, and receive all answers."""
        sent: deque[_Sent] = deque()

        def send_next(server: Address) -> None:
            waiting = by_server[server]
            while waiting:
                one = self._send(waiting.popleft(), work, outcome, deadline_s)
                if one is not None:
                    sent.append(one)
                    return

        try:
            for _ in range(MAX_IN_FLIGHT):
                for server in by_server:
                    send_next(server)
            while sent:
                self._receive(sent[0], outcome, deadline_s)
                send_next(sent.popleft().request.server)
        except BaseException:  # interrupted: no later call may meet these on a server
            for one in sent:
                one.connection.abort()
            raise

    def _by_region(
        self, work: _Work, indexes: Sequence[int], outcome: Outcome, deadline_s: float
    ) -> list[tuple[Region, list[int]]]:
        regions = self._regions.of(work.table, deadline_s)
        found: dict[bytes, tuple[Region, list[int]]] = {}
        for index in indexes:
            region = regions.of(work.mutations[index].row)
            if region is None or region.server is None:
                outcome.again.append(index)
                outcome.has_moved = True
                outcome.reason = ConnectionLostError(f'a region of table "{work.table}" is on no server now')
            else:
                found.setdefault(region.name, (region, []))[1].append(index)
        return list(found.values())

    def _send(self, request: Request, work: _Work, outcome: Outcome, deadline_s: float) -> _Sent | None:
        if request.server in outcome.lost_servers:
            outcome.lost(request)
            return None
        message = self._multi.request(request.batches, work.mutations)
        cells = b"".join([work.encoded[index] for batch in request.batches for index in batch.indexes])
        try:
            connection = self._cluster.connection(request.server, CLIENT_SERVICE, deadline_s)
            return _Sent(request, connection, connection.send("Multi", message, cells, deadline_s))
        except ConnectionLostError as error:
            outcome.lost(request, error)
        except StoreError as error:  # the server may not be connected to
            outcome.fatal = error
        return None

    def _receive(self, sent: _Sent, outcome: Outcome, deadline_s: float) -> None:
        request = sent.request
        try:
            answer = sent.connection.receive(sent.call_id, deadline_s)
            found = failures(answer.message, request.batches)
        except RemoteError as error:
            every = [index for batch in request.batches for index in batch.indexes]
            outcome.failed(BatchFailure(error, every, is_of_region=True))
        except (ConnectionLostError, WireError) as error:
            outcome.lost(request, error)
        else:
            for failure in found:
                outcome.failed(failure)
