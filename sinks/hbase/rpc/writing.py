"""
Writes mutations: divides them by region and server, sends them, and repeats those whose region has moved.

A server runs the calls of a connection in parallel. So a row key is in one unanswered call at a time: mutations of one
row are sent one after the other, and an error is raised only after all calls were answered.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ingest.api import IngestError, Mutation, Put, StoreError, WriteRejectedError
from sinks.hbase.errors import Kind
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import CellEncoder, RefusalError
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.errors import REPEATED, ConnectionLostError, RemoteError, store_error, unavailable
from sinks.hbase.rpc.multi import MAX_BYTES, MAX_ROW_BYTES, MAX_ROWS, Batch, BatchFailure, MultiEncoder, failures
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region, RegionCache
from sinks.hbase.rpc.stream import Address
from sinks.hbase.rpc.wire import WireError

_REJECTIONS = frozenset([Kind.NO_FAMILY, Kind.REJECTED, Kind.TOO_LARGE])


class _Work(NamedTuple):
    """
    The mutations of one `apply`.

    Attributes:
        encoded: their cells.
    """

    table: str
    mutations: Sequence[Mutation]
    encoded: Sequence[bytes]


class _Request(NamedTuple):
    """A call to one server, not sent yet."""

    server: Address
    batches: list[Batch]


class _Sent(NamedTuple):
    """A call that waits for its answer."""

    request: _Request
    connection: Connection
    call_id: int


class _Outcome:
    """
    What became of mutations.

    Attributes:
        again: indexes of those to be sent again.
        refused: index -> why HBase rejects the mutation.
        rejected_batch: why HBase rejects a region's batch, if it does not say because of which mutation.
        fatal: the error that ends the operation, whatever became of other mutations.
        reason: of the last failure.
        lost_servers: those whose connection broke.
    """

    def __init__(self) -> None:
        self.again: list[int] = []
        self.refused: dict[int, RemoteError] = {}
        self.rejected_batch: RemoteError | None = None
        self.fatal: RemoteError | StoreError | None = None
        self.reason: Exception | None = None
        self.lost_servers: set[Address] = set()

    def lost(self, request: _Request, error: Exception | None = None) -> None:
        """The whole call failed, was not sent, or has an unknown outcome."""
        for batch in request.batches:
            self.again += batch.indexes
        self.lost_servers.add(request.server)
        self.reason = error or self.reason

    def failed(self, failure: BatchFailure) -> None:
        """A server answered with an exception."""
        error, indexes = failure.error, failure.indexes
        self.reason = error
        if error.kind in REPEATED:
            self.again += indexes
        elif error.kind not in _REJECTIONS:
            self.fatal = error
        elif failure.is_of_region and len(indexes) > 1:
            self.rejected_batch = error
        else:
            self.refused |= dict.fromkeys(indexes, error)


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
                was; else all others were written, unless the error has no indexes.
            StoreError: as `errors` translates the exception of a server.
        """
        work = _Work(table, mutations, self._encoded(mutations))
        for indexes in _without_repeated_rows(mutations):
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
                self._regions.forget(table)
                if not attempts.pause():
                    raise unavailable(outcome.reason, table) from outcome.reason
        if rejected_batch is not None:
            raise store_error(rejected_batch, table) from rejected_batch
        if refused:
            raise _rejected(refused, table)

    def _attempt(self, work: _Work, indexes: Sequence[int], deadline_s: float) -> _Outcome:
        outcome = _Outcome()
        try:
            by_region = self._by_region(work, indexes, outcome, deadline_s)
        except (ConnectionLostError, RemoteError, WireError) as error:
            self._cluster.forget_meta()
            outcome.again, outcome.reason = list(indexes), error
            return outcome
        by_server: dict[Address, list[_Request]] = {}
        for request in _requests(by_region, work.encoded):
            by_server.setdefault(request.server, []).append(request)
        while by_server:
            self._exchange([requests.pop(0) for requests in by_server.values()], work, outcome, deadline_s)
            for server in outcome.lost_servers.intersection(by_server):
                for request in by_server.pop(server):
                    outcome.lost(request)
            by_server = {server: requests for server, requests in by_server.items() if requests}
        return outcome

    def _exchange(self, requests: Sequence[_Request], work: _Work, outcome: _Outcome, deadline_s: float) -> None:
        """Send one call to each of some servers, then receive all answers."""
        sent: list[_Sent] = []
        try:
            for request in requests:
                if (one := self._send(request, work, outcome, deadline_s)) is not None:
                    sent.append(one)  # noqa: PERF401 - complete at any interruption
            for one in sent:
                self._receive(one, outcome, deadline_s)
        except BaseException:  # interrupted: no later call may meet these on a server
            for one in sent:
                one.connection.abort()
            raise

    def _by_region(
        self, work: _Work, indexes: Sequence[int], outcome: _Outcome, deadline_s: float
    ) -> list[tuple[Region, list[int]]]:
        regions = self._regions.of(work.table, deadline_s)
        if (only := regions.only) is not None and only.server is not None:
            return [(only, list(indexes))]
        found: dict[bytes, tuple[Region, list[int]]] = {}
        for index in indexes:
            region = regions.of(work.mutations[index].row)
            if region is None or region.server is None:
                outcome.again.append(index)
                outcome.reason = ConnectionLostError(f'a region of table "{work.table}" is on no server now')
            else:
                found.setdefault(region.name, (region, []))[1].append(index)
        return list(found.values())

    def _send(self, request: _Request, work: _Work, outcome: _Outcome, deadline_s: float) -> _Sent | None:
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

    def _receive(self, sent: _Sent, outcome: _Outcome, deadline_s: float) -> None:
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


def _requests(by_region: Iterable[tuple[Region, list[int]]], encoded: Sequence[bytes]) -> Iterator[_Request]:
    """Calls of limited size, each to one server with batches of several regions."""
    open_requests: dict[Address, tuple[list[Batch], int, int]] = {}
    for region, indexes in by_region:
        server = region.server
        assert server is not None  # noqa: S101 - regions without a server have no mutations here
        batches, rows, size = open_requests.pop(server, ([], 0, 0))
        batch = Batch(region.name, [])
        for index in indexes:
            own_size = len(encoded[index])
            if rows and (rows >= MAX_ROWS or size + own_size > MAX_BYTES):
                yield _Request(server, [*batches, batch] if batch.indexes else batches)
                batches, rows, size, batch = [], 0, 0, Batch(region.name, [])
            batch.indexes.append(index)
            rows += 1
            size += own_size
        open_requests[server] = ([*batches, batch], rows, size)
    for server, (batches, _, _) in open_requests.items():
        yield _Request(server, batches)


def _without_repeated_rows(mutations: Sequence[Mutation]) -> Iterator[Sequence[int]]:
    """Indexes of consecutive mutations, none of which has the row key of another one."""
    if len({mutation.row for mutation in mutations}) == len(mutations):
        yield range(len(mutations))
        return
    begin = 0
    rows: set[bytes] = set()
    for index, mutation in enumerate(mutations):
        if mutation.row in rows:
            yield range(begin, index)
            begin, rows = index, set()
        rows.add(mutation.row)
    yield range(begin, len(mutations))


def _rejected(refused: dict[int, RemoteError], table: str) -> IngestError:
    """The error for rejected rows; it lists those that were rejected for the same reason as the first."""
    index = min(refused)
    first = refused[index]
    error = store_error(first, table)
    if isinstance(error, WriteRejectedError):
        error.indexes = sorted(index for index, other in refused.items() if other.kind is first.kind)
    return error
