"""Repeats calls that may run twice, while the region that they need moves."""

from collections.abc import Callable
from typing import TypeVar

from ingest.api import IngestError
from sinks.hbase.errors import Kind, NoFamilyError, read_error
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.connection import Answer
from sinks.hbase.rpc.errors import REPEATED, ConnectionLostError, RemoteError, store_error, unavailable
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region, RegionCache
from sinks.hbase.rpc.wire import WireError

T = TypeVar("T")


class RepeatedCalls:
    """
    Calls that may run twice: reads, writes that check a cell, and increments with their nonce; called by one thread.

    Args:
        attempts: returns the attempts of one call.
    """

    def __init__(self, cluster: Cluster, regions: RegionCache, attempts: Callable[[], Attempts]) -> None:
        self.cluster = cluster
        self.regions = regions
        self._attempts = attempts

    def run(self, table: str, call: Callable[[float], T], *, is_write: bool = False) -> T:
        """
        The result of a call, which is repeated for some seconds while the cluster cannot execute it.

        Args:
            table: for messages.
            call: with a deadline.
            is_write: whether it raises as `Store.apply`, not as a read.

        Raises:
            NotFoundError: of a read: there is no such table.
            NoFamilyError: of a read: the table lacks a family.
            StoreError: as `errors` translates the exception of a server.
        """
        attempts = self._attempts()
        while True:
            try:
                return call(attempts.deadline_s)
            except RemoteError as error:
                if error.kind is Kind.NO_FAMILY and not is_write:
                    raise NoFamilyError(str(error)) from error
                if error.kind is Kind.BUSY and attempts.wait_for_busy(error.reason, error.wait_s):
                    continue
                if error.kind not in REPEATED:
                    failure = store_error(error, table)
                    raise (failure if is_write else read_error(failure)) from error
                reason: Exception = error
            except (ConnectionLostError, WireError) as error:
                reason = error
            except IngestError as error:
                self.regions.forget(table)  # an operator may correct where they are
                raise (error if is_write else read_error(error)) from error.__cause__
            self.regions.forget(table)
            self.cluster.forget_meta()
            if not attempts.pause():
                raise unavailable(reason, table) from reason

    def of_row(
        self,
        table: str,
        row: bytes,
        method: str,
        request: Callable[[Region], bytes],
        read: Callable[[Answer], T],
        *,
        is_write: bool = False,
    ) -> T:
        """
        The result of a call to the region server that has a row.

        Args:
            table: of the row.
            row: its key.
            method: of ClientService.
            request: the message for the region.
            read: the result in an answer; a WireError is another attempt.
            is_write: as `run`.

        Raises:
            as `run`.
        """

        def call(deadline_s: float) -> T:
            region = self.located(table, self.regions.of(table, deadline_s).of(row))
            assert region.server is not None  # noqa: S101 - checked by `located`
            return read(self.cluster.call(region.server, CLIENT_SERVICE, method, request(region), deadline_s))

        return self.run(table, call, is_write=is_write)

    @staticmethod
    def located(table: str, region: Region | None) -> Region:
        """
        The region, which is on a server.

        Raises:
            ConnectionLostError: a split, merge or move hides it.
        """
        if region is None or region.server is None:
            raise ConnectionLostError(f'a region of table "{table}" is on no server now')
        return region
