"""Mutations that can never be written to a file; their cells are tested with the writer."""

import pytest

from ingest.api import Delete, Mutation, Put
from sinks.hbase import assembling
from sinks.hbase.hfile import cells
from sinks.hbase.hfile.cells import FileCells
from sinks.hbase.refusals import RefusalError
from sinks.hbase.rpc.cells import CellEncoder


@pytest.mark.parametrize(
    "mutation",
    [
        Put(b"", {b"f:q": b"v"}, 1),
        Put(b"r" * 32_768, {b"f:q": b"v"}, 1),
        Put(b"r", {}, 1),
        Put(b"r", {b"q": b"v"}, 1),
        Put(b"r", {b"f" * 128 + b":q": b"v"}, 1),
        Put(b"r", {b"f:q": b"v"}, -1),
        Put(b"r", {b"f:q": b"v" * 1000}, 1),
        Delete(b"", 1),
        Delete(b"r", -1),
        Delete(b"r", 1, family=b"a:b"),
    ],
)
@pytest.mark.parametrize("is_repeated", [False, True])
def test_what_a_call_refuses_a_file_refuses(mutation: Mutation, *, is_repeated: bool):
    with pytest.raises(RefusalError):
        _ = CellEncoder(500).put(mutation) if isinstance(mutation, Put) else CellEncoder(500).delete(mutation)
    with pytest.raises(RefusalError):
        FileCells(500).by_family([mutation] * (1 + is_repeated))


def test_delete_of_a_whole_row_is_no_file():
    """The region may have more families than were read, or some that get no file: the row would stay there."""
    with pytest.raises(RefusalError, match="whole row"):
        FileCells(500).by_family([Put(b"a", {b"f:q": b"v"}, 2), Delete(b"b", 1)])


def test_cell_of_the_largest_size_is_written():
    limit = 4 + 8 + len(b"r" + b"f" + b"q") + 12 + 100
    CellEncoder(limit).put(Put(b"r", {b"f:q": b"v" * 100}, 1))
    assert FileCells(limit).by_family([Put(b"r", {b"f:q": b"v" * 100}, 1)])[b"f"].cells == 1


def test_what_is_kept_for_shapes_is_bounded(monkeypatch):
    monkeypatch.setattr(assembling, "_MAX_HEADS", 10)
    monkeypatch.setattr(cells, "MAX_SHAPES", 4)
    made = FileCells(10_000)
    for number in range(30):
        rows = made.by_family([Put(b"r", {b"f:%d" % number: b"v" * number}, 1)])
        assert rows[b"f"].rows[0][1].endswith(b"v" * number)
        assert len(made._shapes) <= 4
        assert made._heads.kept <= 10


def test_cells_of_a_refused_call_are_not_counted_in_the_next_one():
    made = FileCells(100)
    good: list[Mutation] = [Put(b"a", {b"f:q": b"v"}, 1), Put(b"b", {b"f:q": b"v"}, 1)]
    with pytest.raises(RefusalError):
        made.by_family([*good, Put(b"c", {b"f:q": b"v" * 100}, 1)])
    rows = made.by_family(good)[b"f"]
    assert (rows.cells, rows.key_bytes) == (2, 2 * (len(b"rfq") + 12))
