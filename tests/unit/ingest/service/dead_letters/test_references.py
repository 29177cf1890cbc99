"""How the dead letters that wait for a replay are read."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.api import Record
from ingest.config.model import Configuration
from ingest.dead_letters.blobs import DeadLetterBlob, reference_of
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.queue import Entry, Mark, ReplayOutcome
from ingest.service.dead_letters.references import DeadLetterReferences
from ingest.service.state_folders import batch_log_folder
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from tests.support.large_dead_letters import publish, written

UNKNOWN = reference_of("p", 1_000, b"in/a.log/0/0/0/json")


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    """Of a pipeline that has run."""
    found = written(tmp_path)
    offsets = checkpoint_folder(found, "p") / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("v1")
    return found


def letter(offset: int, value: bytes) -> DeadLetter:
    record = Record("in/a.log", 0, offset, None, value, 500)
    return DeadLetter(
        record=record,
        fan_out=0,
        attributes={},
        pipeline="p",
        component="json",
        code="decode",
        message="no JSON",
        batch_time_ms=1_000,
        fingerprint="f",
    )


def test_dead_letters_are_not_kept_in_memory(configuration):
    publish(configuration, 1_000, [letter(offset, b"v" * 50_000) for offset in range(100)])
    tracemalloc.start()
    try:
        with DeadLetterReferences(configuration) as references:
            assert references.is_unneeded(UNKNOWN)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2_000_000


def is_unneeded(configuration: Configuration, reference: bytes) -> bool:
    with DeadLetterReferences(configuration) as references:
        found = references.is_unneeded(reference)
        assert references.is_unknown(reference) is not found
        return found


def test_reference_is_known_by_its_batch_time(configuration):
    times = checkpoint_folder(configuration, "p") / "times"
    times.mkdir()
    for name, time_ms in {"0": 3_000, "0.name": 2_000, "floor": 1_000}.items():
        (times / name).write_text(str(time_ms))
    log = BatchLog(batch_log_folder(configuration, "p"))
    log.append(LoggedBatch(0, 4_000, {}))
    log.close()
    publish(configuration, 5_000, [letter(0, b"v")])
    found = {at_ms: is_unneeded(configuration, reference_of("p", at_ms, b"k")) for at_ms in range(0, 6_000, 1_000)}
    # the newest time of an earlier checkpoint may be that of another state
    assert found == {0: False, 1_000: False, 2_000: True, 3_000: True, 4_000: True, 5_000: True}


def test_reference_is_known_by_its_replayed_dead_letter(configuration, monkeypatch):
    """The dead letter may be in a topic, and its batch in no log any more."""
    replayed = letter(0, b"").with_blob(DeadLetterBlob("events", "ab" * 32, 5))
    publish(configuration, 1_000, [replayed])
    monkeypatch.setattr(FileDeadLetters, "batch_times", lambda _queue: frozenset())
    queue = FileDeadLetters(configuration.local_dir, "p")
    (entry,) = queue.entries()
    with DeadLetterReferences(configuration) as references:
        assert not references.is_unneeded(replayed.blob_reference)
        assert not references.is_unknown(replayed.blob_reference)
    queue.mark({entry.position: Mark(ReplayOutcome.REPLAYED, 2)})
    assert is_unneeded(configuration, replayed.blob_reference)


def test_other_references_are_neither(configuration):
    with DeadLetterReferences(configuration) as references:
        for reference in (b"report", reference_of("q", 1_000, b"k")):
            assert (references.is_unneeded(reference), references.is_unknown(reference)) == (False, False)
        assert references.is_unknown(b"dead-letter/p/soon/k")


def test_files_are_read_once(configuration, monkeypatch):
    publish(configuration, 1_000, [letter(0, b"v")])
    read, readings = FileDeadLetters.entries, []

    def noted(queue: FileDeadLetters) -> Iterator[Entry]:
        readings.append(queue)
        return read(queue)

    monkeypatch.setattr(FileDeadLetters, "entries", noted)
    with DeadLetterReferences(configuration) as references:
        assert references.is_unneeded(UNKNOWN)
    assert len(readings) == 1
