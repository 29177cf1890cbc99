"""Divides mutations into calls: by region and server, and by size."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ingest.api import Mutation
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


def without_repeated_rows(mutations: Sequence[Mutation]) -> Iterator[Sequence[int]]:
    """
    Indexes of mutations, none of which has the row key of another one, to be sent one group after the other.

    The first group has the first mutation of each row, the second one the second, and so on: those of a row stay in
    order, and there are as many groups as a row has mutations.
    """
    if len({mutation.row for mutation in mutations}) == len(mutations):
        yield range(len(mutations))
        return
    groups: list[list[int]] = []
    counts: Counter[bytes] = Counter()
    for index, mutation in enumerate(mutations):
        number = counts[mutation.row]
        counts[mutation.row] += 1
        if number == len(groups):
            groups.append([])
        groups[number].append(index)
    yield from groups
