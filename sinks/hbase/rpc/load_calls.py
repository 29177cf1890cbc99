"""
The calls of a bulk load: HBase takes over files in place of rows.

Source: PrepareBulkLoadRequest, BulkLoadHFileRequest and CleanupBulkLoadRequest of Client.proto;
`SecureBulkLoadManager`, which moves or copies the files into a folder of its own before it loads them.

A region loads all files of a call under its lock, so a reader sees all families of a row or none. It flushes first, and
the files get the sequence id of that flush; but if a flush runs already they get none. The answer is `loaded = false`
for most of what may go wrong, and does not say what.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.api import IngestError
from sinks.hbase.errors import Kind
from sinks.hbase.protobuf import Message, WireError, data, flag
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.connection import Answer, Connection
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region
from sinks.hbase.rpc.repeating import CALL_ERRORS
from sinks.hbase.rpc.requests import region_specifier
from sinks.hbase.rpc.schema import table_name
from sinks.hbase.rpc.stream import Address

_PASSING = frozenset([Kind.MOVED, Kind.BUSY, Kind.UNAVAILABLE])
"""What an exception means if a later load may succeed; after any other one the rows are left to calls at once."""


class Load(NamedTuple):
    """
    Files of one region, which are staged.

    Attributes:
        indexes: of the mutations.
        families: of the files, in their order.
        names: of the files.
    """

    region: Region
    server: Address
    indexes: list[int]
    families: list[bytes]
    names: list[str]


@dataclass(slots=True)
class Round:
    """
    One attempt to load files.

    Attributes:
        loaded: those whose files HBase has loaded.
        refused: those whose files HBase has not loaded, for a reason that it does not say.
        denied: those that need no other attempt.
        failed: those whose calls failed, and may have been executed.
        failures: the errors of these calls.
    """

    loaded: list[Load] = field(default_factory=list)
    refused: list[Load] = field(default_factory=list)
    denied: list[Load] = field(default_factory=list)
    failed: list[Load] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def fail(self, load: Load, error: Exception) -> None:
        """The call for some files has failed."""
        if isinstance(error, RemoteError) and (error.is_unclear or error.kind not in _PASSING):
            self.denied.append(load)
        else:
            self.failed.append(load)
            self.failures.append(error)

    @property
    def has_server_failure(self) -> bool:
        """Whether HBase has failed for a reason of which nothing is known."""
        return any(isinstance(error, RemoteError) and error.kind is Kind.UNAVAILABLE for error in self.failures)

    @property
    def is_answered(self) -> bool:
        """Whether no call may still be executed."""
        return all(isinstance(error, RemoteError) for error in self.failures)

    def deny(self, loads: list[Load]) -> None:
        """Make no other attempt at some of them."""
        self.denied += loads
        loads.clear()


class LoadCalls:
    """
    The calls of loads to the servers of a cluster; used by one thread.

    Args:
        cluster: its connections.
        url_of: name of a staged file -> its name for HBase.
    """

    def __init__(self, cluster: Cluster, url_of: Callable[[str], str]) -> None:
        self._cluster = cluster
        self._url_of = url_of

    def load(
        self,
        table: str,
        loads: Sequence[Load],
        deadline_s: float,
        on_progress: Callable[[], None],
    ) -> Round:
        """Load what is staged, with one call for each region; all are in flight together."""
        done = Round()
        if not loads:
            return done
        try:
            token = self.prepared(table, loads[0].region, loads[0].server, deadline_s)
        except CALL_ERRORS as error:
            for load in loads:
                done.fail(load, error)
            return done
        sent: deque[tuple[Load, Connection, int]] = deque()
        try:
            for load in loads:
                try:
                    connection = self._cluster.connection(load.server, CLIENT_SERVICE, deadline_s)
                    request = self._request(load, token)
                    sent.append((load, connection, connection.send("BulkLoadHFile", request, b"", deadline_s)))
                except (ConnectionLostError, IngestError) as error:
                    done.fail(load, error)
            while sent:
                load, connection, call_id = sent[0]
                try:
                    is_loaded = _is_loaded(connection.receive(call_id, deadline_s))
                except (RemoteError, ConnectionLostError, WireError) as error:
                    done.fail(load, error)
                else:
                    (done.loaded if is_loaded else done.refused).append(load)
                sent.popleft()
                on_progress()
        finally:
            for _, connection, _ in sent:  # interrupted: no later call may meet these on a server
                connection.abort()
        if done.is_answered:  # else a server may still load files in the folder
            with suppress(*CALL_ERRORS):  # an empty folder stays
                self.clean_up(loads[0].region, loads[0].server, token, deadline_s)
        return done

    def prepared(self, table: str, region: Region, server: Address, deadline_s: float) -> bytes:
        """The folder of HBase for the files: the token of a load."""
        # PrepareBulkLoadRequest: table_name 1, region 2; PrepareBulkLoadResponse: bulk_token 1
        request = data(1, table_name(table)) + data(2, region_specifier(region.name))
        answer = self._cluster.call(server, CLIENT_SERVICE, "PrepareBulkLoad", request, deadline_s)
        return Message(answer.message).data(1)

    def _request(self, load: Load, token: bytes) -> bytes:
        # region 1, family_path 2, assign_seq_num 3, bulk_token 5; FamilyPath: family 1, path 2
        paths = (
            data(2, data(1, family) + data(2, self._url_of(name).encode()))
            for family, name in zip(load.families, load.names, strict=True)
        )
        return data(1, region_specifier(load.region.name)) + b"".join(paths) + flag(3) + data(5, token)

    def clean_up(self, region: Region, server: Address, token: bytes, deadline_s: float) -> None:
        """Remove the folder of HBase."""
        # CleanupBulkLoadRequest: bulk_token 1, region 2
        request = data(1, token) + data(2, region_specifier(region.name))
        self._cluster.call(server, CLIENT_SERVICE, "CleanupBulkLoad", request, deadline_s)


def _is_loaded(answer: Answer) -> bool:
    return Message(answer.message).flag(1)  # BulkLoadHFileResponse: loaded 1
