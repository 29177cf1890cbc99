"""Calls about regions, which are repeated while a region moves or a server is busy."""

from collections.abc import Callable
from typing import TypeVar

from ingest.api import IngestError
from sinks.hbase.errors import Kind, NoFamilyError, read_error
from sinks.hbase.protobuf import WireError, data
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.connection import Answer
from sinks.hbase.rpc.errors import REPEATED, ConnectionLostError, RemoteError, store_error, unavailable
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region, RegionCache
from sinks.hbase.rpc.requests import region_specifier
from sinks.hbase.rpc.stream import Address

T = TypeVar("T")

CALL_ERRORS = (RemoteError, ConnectionLostError, WireError, IngestError)
"""Of a call about a region; `RepeatedCalls.wait_after` decides which of them are repeated."""


class RepeatedCalls:
    """
    Calls about regions; called by one thread.

    Args:
        attempts: returns the attempts of one call that may run twice: a read, a write that checks a cell.
    """

    def __init__(self, cluster: Cluster, regions: RegionCache, attempts: Callable[[], Attempts]) -> None:
        self.cluster = cluster
        self.regions = regions
        self._attempts = attempts

    def run(self, table: str, call: Callable[[float], T]) -> T:
        """
        The result of a read, which is repeated for some seconds while the cluster cannot execute it.

        Args:
            table: for messages.
            call: with a deadline.

        Raises:
            IngestError: as `wait_after`.
        """
        attempts = self._attempts()
        while True:
            try:
                return call(attempts.deadline_s)
            except CALL_ERRORS as error:
                self.wait_after(error, table, attempts)

    def of_row(
        self,
        table: str,
        row: bytes,
        method: str,
        request: bytes,
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
            request: its message but for the region, which is field 1.
            read: the result in an answer; a WireError is another attempt.
            is_write: whether it raises as `Store.apply`, not as a read.

        Raises:
            IngestError: as `wait_after`.
        """
        attempts = self._attempts()
        while True:
            try:
                region, server = self.located(table, self.regions.of(table, attempts.deadline_s).of(row))
                message = data(1, region_specifier(region.name)) + request
                return read(self.cluster.call(server, CLIENT_SERVICE, method, message, attempts.deadline_s))
            except CALL_ERRORS as error:
                self.wait_after(error, table, attempts, is_write=is_write)

    def wait_after(self, error: Exception, table: str, attempts: Attempts, *, is_write: bool = False) -> None:
        """
        Wait until the next attempt of a call, which looks up its region again unless a server is busy.

        Args:
            error: of the last attempt; one of `CALL_ERRORS`.
            table: of the call.
            attempts: of the call.
            is_write: whether it raises as `Store.apply`, not as a read.

        Raises:
            NotFoundError: of a read: there is no such table.
            NoFamilyError: of a read: the table lacks a family.
            StoreError: there is no next attempt; as `errors` translates the exception of a server.
        """
        if isinstance(error, RemoteError):
            if error.kind is Kind.BUSY and attempts.wait_for_busy(error.reason, error.wait_s):
                return
            if error.kind is Kind.NO_FAMILY and not is_write:
                raise NoFamilyError(str(error)) from error
            if error.kind not in REPEATED:
                failure = store_error(error, table)
                raise (failure if is_write else read_error(failure)) from error
        self.regions.forget(table)
        if isinstance(error, IngestError):  # an operator may correct where the regions are
            raise (error if is_write else read_error(error)) from error.__cause__
        self.cluster.forget_meta()
        if not attempts.pause():
            raise unavailable(error, table) from error

    @staticmethod
    def located(table: str, region: Region | None) -> tuple[Region, Address]:
        """
        A region and its server.

        Raises:
            ConnectionLostError: a split, merge or move hides it.
        """
        if region is None or region.server is None:
            raise ConnectionLostError(f'a region of table "{table}" is on no server now')
        return region, region.server
