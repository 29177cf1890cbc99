"""A copy of the state of a stopped service continues elsewhere: docs/operations/backup.md."""

import shutil
from pathlib import Path

import pytest

from tests.support import ticks
from tests.support.audit import rocksdb_table, table_of
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

PIPELINE, TABLE = "ticks", "t"
COUNT = 2_000


@pytest.mark.slow
def test_copy_continues_elsewhere_without_loss_or_doubles(kafka: Kafka, tmp_path: Path) -> None:
    sent = Ticks.produced(kafka, COUNT)
    content = {
        # relative to the working directory, as is `state_dir`
        "stores": {"embedded": {"rocksdb": {"path": "./store"}}},
        "tables": {TABLE: ticks.table("embedded")},
        "pipelines": {PIPELINE: ticks.pipeline(kafka, sent.topic, "embedded", TABLE, group=unique("group"))},
    }
    with Service(tmp_path / "first", content) as first:
        assert first.ingest("table apply").returncode == 0
        first.start()
        first.wait_for_offsets(sent.ends, PIPELINE, sent.topic)
        assert first.stop() == 0, first.last_lines()
    shutil.copytree(tmp_path / "first", tmp_path / "backup")
    (tmp_path / "first").rename(tmp_path / "lost")

    sent = sent.more(kafka, COUNT)
    restored(tmp_path / "second", tmp_path / "backup", content, sent)

    # an older backup, after its records were read by another copy: the group is ahead of the checkpoint
    sent = sent.more(kafka, COUNT)
    restored(tmp_path / "third", tmp_path / "backup", content, sent)


def restored(folder: Path, backup: Path, content: dict[str, object], sent: Ticks) -> None:
    """Run a restored copy until it has read everything; each tick is there once, with the time of its batch."""
    shutil.copytree(backup, folder)
    with Service(folder, content) as service:
        service.start()
        service.wait_for_offsets(sent.ends, PIPELINE, sent.topic)
        assert service.stop() == 0, service.last_lines()
        found = rocksdb_table(folder / "store", TABLE, versions=ticks.VERSIONS)
        expected = sent.expected(service.checkpoint(PIPELINE), TABLE)
    assert len(found) == sent.count
    assert found == table_of(expected, TABLE, versions=ticks.VERSIONS)
