"""Mutations with physical row keys."""

from ingest.api import Delete, Durability, Put
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys


def test_only_the_row_key_differs():
    put = Put(b"a", {b"f:q": b"v"}, 7, durability=Durability.SKIP, size_bytes=12)
    delete = Delete(b"b", 6, b"f", b"q", durability=Durability.SKIP)
    distribution = Distribution(16)

    physical_put, physical_delete = with_physical_keys([put, delete], distribution.physical)

    assert physical_put == Put(distribution.physical(b"a"), {b"f:q": b"v"}, 7, durability=Durability.SKIP)
    assert physical_put.size_bytes == 12
    assert physical_delete == Delete(distribution.physical(b"b"), 6, b"f", b"q", durability=Durability.SKIP)
    assert (put.row, delete.row) == (b"a", b"b")
