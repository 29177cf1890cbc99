"""
Calls about the regions of a table: sizes, flush and major compaction.

Source: AdminService of Admin.proto, which every region server has; RegionLoad of ClusterStatus.proto. A server answers
a flush when it has ended, or at once if the region has nothing to flush or is being flushed already. A compaction is
only requested by its call; whether one runs is the region's compaction state.
"""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from ingest.api import StoredRegion, StoreUnavailableError
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.requests import region_specifier
from sinks.hbase.rpc.schema import table_name
from sinks.hbase.rpc.wire import Message, data, flag

T = TypeVar("T")

_SERVICE = "AdminService"
_NO_COMPACTION = 0  # CompactionState of GetRegionInfoResponse
_POLL_S = 0.2
"""Between two questions whether a region is compacted."""
_MIB = 1 << 20


class RegionAdmin:
    """
    The regions of the tables of a cluster; called by one thread.

    Args:
        calls: to the cluster.
        clock: in seconds.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        calls: RepeatedCalls,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._calls = calls
        self._clock = clock
        self._sleep = sleep

    def regions(self, table: str) -> tuple[StoredRegion, ...]:
        """
        The regions of a table by their start, with their servers and sizes.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._calls.run(table, lambda deadline_s: tuple(self._sizes(table, deadline_s)))

    def flush(self, table: str) -> None:
        """
        Write the memstores of a table to files.

        Raises:
            NotFoundError: there is no such table.
        """
        for start in self._starts(table):
            # FlushRegionRequest: region 1
            self._on_region(table, start, "FlushRegion", b"", _ignored)

    def major_compact(self, table: str, timeout_s: float) -> None:
        """
        Write the files of each family and region into one, without deleted and expired cells; returns afterwards.

        Args:
            table: its name.
            timeout_s: maximum wait; the compaction continues after it.

        Raises:
            NotFoundError: there is no such table.
            StoreUnavailableError: the compaction has not ended in time.
        """
        until_s = self._clock() + timeout_s
        starts = self._starts(table)
        # files of a compaction that runs are not part of another one
        self._wait(table, starts, until_s)
        for start in starts:
            # CompactRegionRequest: region 1, major 2
            self._on_region(table, start, "CompactRegion", flag(2), _ignored)
        self._wait(table, starts, until_s)

    def _starts(self, table: str) -> list[bytes]:
        """Their first row keys, by which regions are found again after a move."""
        regions = self._calls.run(table, lambda deadline_s: self._calls.regions.present(table, deadline_s))
        return [region.start for region in regions.all]

    def _wait(self, table: str, starts: list[bytes], until_s: float) -> None:
        for start in starts:
            # GetRegionInfoRequest: region 1, compaction_state 2
            while self._on_region(table, start, "GetRegionInfo", flag(2), _state) != _NO_COMPACTION:
                if self._clock() >= until_s:
                    raise StoreUnavailableError(f'the compaction of table "{table}" has not ended in time')
                self._sleep(_POLL_S)

    def _on_region(self, table: str, row: bytes, method: str, parameter: bytes, read: Callable[[Message], T]) -> T:
        """The result of a call to the server with the region of a row; the region is the first field of the request."""

        def call(deadline_s: float) -> T:
            region, server = self._calls.located(table, self._calls.regions.of(table, deadline_s).of(row))
            request = data(1, region_specifier(region.name)) + parameter
            answer = self._calls.cluster.call(server, _SERVICE, method, request, deadline_s)
            return read(Message(answer.message))

        return self._calls.run(table, call)

    def _sizes(self, table: str, deadline_s: float) -> Iterator[StoredRegion]:
        regions = self._calls.regions.present(table, deadline_s).all
        loads: dict[bytes, Message] = {}
        for server in {region.server for region in regions if region.server is not None}:
            # GetRegionLoadRequest: table_name 1; GetRegionLoadResponse: region_loads 1
            answer = self._calls.cluster.call(server, _SERVICE, "GetRegionLoad", data(1, table_name(table)), deadline_s)
            for load in Message(answer.message).messages(1):
                loads[load.message(1).data(2)] = load
        for region in regions:
            load = loads.get(region.name, Message(b""))
            # RegionLoad: region_specifier 1, storefile_size_MB 5, mem_store_size_MB 6; both are rounded down
            yield StoredRegion(
                region.start,
                "" if region.server is None else str(region.server),
                load.number(5) * _MIB,
                load.number(6) * _MIB,
            )


def _state(answer: Message) -> int:
    """The CompactionState in a GetRegionInfoResponse: compaction_state 2."""
    return answer.number(2)


def _ignored(_answer: Message) -> None:
    """For an answer of which nothing is used."""
