"""Mutations with stored row keys."""

from ingest.api import Delete, Durability, Put
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_stored_keys


def test_only_the_row_key_differs():
    put = Put(b"a", {b"f:q": b"v"}, 7, durability=Durability.SKIP, size_bytes=12)
    delete = Delete(b"b", 6, b"f", b"q", durability=Durability.SKIP)
    distribution = Distribution(16)

    stored_put, stored_delete = with_stored_keys([put, delete], distribution.stored)

    assert stored_put == Put(distribution.stored(b"a"), {b"f:q": b"v"}, 7, durability=Durability.SKIP)
    assert stored_put.size_bytes == 12
    assert stored_delete == Delete(distribution.stored(b"b"), 6, b"f", b"q", durability=Durability.SKIP)
    assert (put.row, delete.row) == (b"a", b"b")
