"""Mutations that can never be written to a file; their cells are tested with the writer."""

import pytest

from ingest.api import Delete, Mutation, Put
from sinks.hbase import assembling
from sinks.hbase.hfile import cells
from sinks.hbase.hfile.cells import FileCells
from sinks.hbase.hfile.writer import HFileFormat
from sinks.hbase.refusals import RefusalError
from sinks.hbase.rpc.cells import CellEncoder
from tests.support.hfile_reader import StoredFile, read_hfile

FORMATS = {b"f": HFileFormat()}


def stored(cells: FileCells, mutations: list[Mutation]) -> StoredFile:
    return read_hfile(b"".join(cells.files(mutations, FORMATS, 1)[b"f"]))


def test_mutation_of_a_family_without_a_format_is_refused():
    with pytest.raises(RefusalError, match="no file"):
        FileCells(500).files([Put(b"a", {b"f:q": b"v"}, 2), Put(b"b", {b"g:q": b"v"}, 2)], FORMATS, 1)


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
        FileCells(500).files([mutation] * (1 + is_repeated), FORMATS, 1)


def test_delete_of_a_whole_row_is_no_file():
    """The region may have more families than were read, or some that get no file: the row would stay there."""
    with pytest.raises(RefusalError, match="whole row"):
        FileCells(500).files([Put(b"a", {b"f:q": b"v"}, 2), Delete(b"b", 1)], FORMATS, 1)


def test_cell_of_the_largest_size_is_written():
    limit = 4 + 8 + len(b"r" + b"f" + b"q") + 12 + 100
    CellEncoder(limit).put(Put(b"r", {b"f:q": b"v" * 100}, 1))
    assert len(stored(FileCells(limit), [Put(b"r", {b"f:q": b"v" * 100}, 1)]).cells) == 1


def test_what_is_kept_for_shapes_is_bounded(monkeypatch):
    monkeypatch.setattr(assembling, "_MAX_HEADS", 10)
    monkeypatch.setattr(cells, "MAX_SHAPES", 4)
    made = FileCells(10_000)
    for number in range(30):
        (cell,) = stored(made, [Put(b"r", {b"f:%d" % number: b"v" * number}, 1)]).cells
        assert cell.value == b"v" * number
        assert len(made._shapes) <= 4
        assert made._heads.kept <= 10


def test_cells_of_a_refused_call_are_not_counted_in_the_next_one():
    made = FileCells(100)
    good: list[Mutation] = [Put(b"a", {b"f:q": b"v"}, 1), Put(b"b", {b"f:q": b"v"}, 1)]
    with pytest.raises(RefusalError):
        made.files([*good, Put(b"c", {b"f:q": b"v" * 100}, 1)], FORMATS, 1)
    file = stored(made, good)
    assert len(file.cells) == 2
    assert file.info[b"hfile.AVG_KEY_LEN"] == (len(b"rfq") + 12).to_bytes(4, "big")
