"""The functions that compare tables detect differences."""

from pathlib import Path

import pytest

from ingest.api import Cell, Scan
from tests.support.audit import assert_holds, assert_same_table, hbase_older_versions, hbase_table
from tests.support.checkpoint import CheckpointReader
from tests.support.servers import HBase
from tests.support.ticks import Ticks

ROW = {b"r": (Cell(b"f", b"q", 5, b"v"),)}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param({}, id="lost"),
        pytest.param({**ROW, b"s": ROW[b"r"]}, id="invented"),
        pytest.param({b"r": (Cell(b"f", b"q", 5, b"w"),)}, id="other value"),
        pytest.param({b"r": (Cell(b"f", b"q", 6, b"v"),)}, id="other time"),
        pytest.param({b"r": (*ROW[b"r"], Cell(b"f", b"q", 4, b"v"))}, id="another version"),
    ],
)
def test_different_tables_are_detected(found: dict[bytes, tuple[Cell, ...]]) -> None:
    with pytest.raises(AssertionError, match="expected 1 rows"):
        assert_same_table(ROW, found)


def test_missing_row_is_detected() -> None:
    assert_holds(ROW, {**ROW, b"s": ROW[b"r"]})
    with pytest.raises(AssertionError, match="1 missing"):
        assert_holds(ROW, {})


@pytest.mark.one_protocol("the audit has a client of its own")
def test_older_versions_in_hbase_are_found(hbase: HBase) -> None:
    table = hbase.create_table("audit", families=["f"], versions=10)
    with hbase.connection() as connection:
        for row, times in ((b"once", [20]), (b"twice", [10, 20]), (b"earlier", [10])):
            for time_ms in times:
                connection.table(table).put(row, {b"f:q": b"v"}, timestamp=time_ms)
    older = hbase_older_versions(hbase, table, [10, 20], hbase_table(hbase, table))
    assert older == {b"twice": {b"f:q": (b"v", 10)}}


def test_acknowledged_batches_are_read_from_a_checkpoint(tmp_path: Path) -> None:
    """Two batches; the second is planned but not acknowledged."""
    checkpoint = CheckpointReader(tmp_path)
    for name in ("offsets", "commits", "times"):
        (tmp_path / name).mkdir()
    for number, ends in ((0, '{"t":{"0":2,"1":1}}'), (1, '{"t":{"0":4,"1":3}}')):
        (tmp_path / "offsets" / str(number)).write_text(f"v1\n{{}}\n{ends}")
        checkpoint.set_time(number, 100 + number)
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    assert checkpoint.is_inside_a_batch()
    assert checkpoint.acknowledged("t") == {0: 2, 1: 1}
    (batch,) = checkpoint.batches("t")
    assert (batch.time_ms, batch.starts, batch.ends) == (100, {0: 0, 1: 0}, {0: 2, 1: 1})
    ticks = Ticks("t", 7, 2)
    assert sorted(ticks.numbers(batch.starts, batch.ends)) == [0, 1, 2]
    assert ticks.ends == {0: 4, 1: 3}
    assert len(list(ticks.expected(checkpoint, "x").scan("x", Scan()))) == 3
