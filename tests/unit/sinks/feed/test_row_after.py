"""The cells of a row after mutations, as the reference store has them."""

import pytest

from ingest.api import Delete, FamilySpec, Mutation, Put, TableSpec
from sinks.feed.row_after import cells_after
from sinks.memory import MemoryStore

BEFORE = [Put(b"r", {b"f:a": b"1", b"f:b": b"2", b"g:a": b"3"}, 100)]


@pytest.mark.parametrize(
    "mutations",
    [
        [],
        [Put(b"r", {b"f:a": b"4", b"f:c": b"5"}, 200)],
        [Put(b"r", {b"f:a": b"4"}, 200), Put(b"r", {b"f:a": b"5"}, 200)],
        [Put(b"r", {b"f:a": b"older"}, 50)],
        [Delete(b"r", 150), Put(b"r", {b"f:a": b"4"}, 200)],
        [Put(b"r", {b"f:a": b"4"}, 200), Delete(b"r", 199)],
        [Put(b"r", {b"f:a": b"4"}, 200), Delete(b"r", 200)],
        [Delete(b"r", 150, b"f")],
        [Delete(b"r", 150, b"f", b"a")],
        [Delete(b"r", 100, b"f", b"a", exact=True)],
        [Delete(b"r", 99, b"f", b"a", exact=True)],
    ],
)
def test_cells_are_those_of_the_reference_store(mutations: list[Mutation]) -> None:
    store = MemoryStore(clock_ms=lambda: 1_000)
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"), FamilySpec(b"g"))))
    store.apply("t", BEFORE)
    before = store.get("t", b"r")
    assert before is not None
    store.apply("t", mutations)
    after = store.get("t", b"r")

    assert cells_after(before.cells, mutations) == (() if after is None else tuple(after.cells))
