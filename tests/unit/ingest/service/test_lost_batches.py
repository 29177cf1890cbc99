"""Plans of micro-batches that have not begun."""

from pathlib import Path

import pytest

from ingest.api import ConflictError
from ingest.service.lost_batches import forget_unbegun
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge
from tests.support.update_pipeline import BATCH_MS, Pipeline


def planned(folder: Path, number: int) -> None:
    """Spark has planned a batch, and has not called the pipeline with it."""
    acknowledge(folder, number, {"t": {0: 20}})
    (folder / "commits" / str(number)).unlink()
    (folder / "offsets" / f".{number}.crc").write_bytes(b"")


def test_replay_follows_the_newest_batch_once_the_plan_of_an_unbegun_one_is_removed(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    planned(pipeline.checkpoint, 1)
    with pytest.raises(ConflictError, match="is not complete"):
        pipeline.replay(b"2")
    checkpoint = Checkpoint(pipeline.checkpoint)
    checkpoint.lock()
    forget_unbegun(checkpoint)
    checkpoint.unlock()
    assert [path.name for path in (pipeline.checkpoint / "offsets").iterdir()] == ["0"]
    pipeline.replay(b"2")
    assert [value for _, value in pipeline.updates()] == [b"2"]


def test_batch_that_has_begun_keeps_its_plan(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    planned(pipeline.checkpoint, 1)
    (pipeline.checkpoint / "times" / "1").write_text(str(BATCH_MS + 1))
    checkpoint = Checkpoint(pipeline.checkpoint)
    checkpoint.lock()
    forget_unbegun(checkpoint)
    checkpoint.unlock()
    assert checkpoint.uncommitted() == 1


def test_first_batch_keeps_its_plan(tmp_path: Path) -> None:
    planned(tmp_path, 0)
    checkpoint = Checkpoint(tmp_path)
    checkpoint.lock()
    forget_unbegun(checkpoint)
    checkpoint.unlock()
    assert checkpoint.without_time() == 0
