"""How the dead letters that wait for a replay are read."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.api import Record
from ingest.config.model import Configuration
from ingest.dead_letters.bodies import reference_of
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.queue import Entry
from ingest.service.letter_references import LetterReferences
from ingest.service.pipeline import checkpoint_folder
from tests.support.large_letters import publish, written

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
        with LetterReferences(configuration) as references:
            assert references.is_unneeded(UNKNOWN)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2_000_000


def test_files_are_read_once(configuration, monkeypatch):
    publish(configuration, 1_000, [letter(0, b"v")])
    read, readings = FileDeadLetters.entries, []

    def noted(queue: FileDeadLetters) -> Iterator[Entry]:
        readings.append(queue)
        return read(queue)

    monkeypatch.setattr(FileDeadLetters, "entries", noted)
    with LetterReferences(configuration) as references:
        assert references.is_unneeded(UNKNOWN)
    assert len(readings) == 1
