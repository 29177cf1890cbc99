"""Divides mutations into calls: by region and server, and by size."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ingest.api import Delete, Mutation
from sinks.hbase.rpc.multi import MAX_BYTES, MAX_ROWS, Batch
from sinks.hbase.rpc.regions import Region
from sinks.hbase.rpc.stream import Address


class Request(NamedTuple):
    """A call to one server, not sent yet."""

    server: Address
    batches: list[Batch]

    @property
    def indexes(self) -> list[int]:
        """Of all its mutations, in their order in the call."""
        return [index for batch in self.batches for index in batch.indexes]


def requests_of(by_region: Iterable[tuple[Region, list[int]]], encoded: Sequence[bytes]) -> Iterator[Request]:
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
                yield Request(server, [*batches, batch] if batch.indexes else batches)
                batches, rows, size, batch = [], 0, 0, Batch(region.name, [])
            batch.indexes.append(index)
            rows += 1
            size += own_size
        open_requests[server] = ([*batches, batch], rows, size)
    for server, (batches, _, _) in open_requests.items():
        yield Request(server, batches)


def without_conflicts(mutations: Sequence[Mutation]) -> Iterator[Sequence[int]]:
    """
    Indexes of mutations in groups, to be sent one after the other, so that those of one row have the effect of their
    order.

    HBase gives the mutations of a row in one batch one sequence number, so of two that write or delete the same cell
    at the same time either may win. Puts of a row with different timestamps are in one group. Other mutations of a row
    are not: its first one is in the first group, its second one in the second, and so on.
    """
    if len({mutation.row for mutation in mutations}) == len(mutations):
        yield range(len(mutations))
        return
    deleted = {mutation.row for mutation in mutations if isinstance(mutation, Delete)}
    groups: list[list[int]] = []
    counts: Counter[tuple[bytes, int]] = Counter()
    for index, mutation in enumerate(mutations):
        row = mutation.row
        place = (row, -1) if row in deleted else (row, mutation.timestamp_ms)
        number = counts[place]
        counts[place] += 1
        if number == len(groups):
            groups.append([])
        groups[number].append(index)
    yield from groups
