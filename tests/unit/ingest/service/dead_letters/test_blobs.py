"""The blobs of dead letters that another publication of their micro-batch replaces."""

from pathlib import Path

import pytest

from ingest.api import StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from ingest.service.dead_letters.blobs import DeadLetterPublication, OpenDeadLetterBlobs
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.spark.state import state_of
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.errors import BlobsElsewhereError
from tests.support.killed_stores import KilledError
from tests.support.large_dead_letters import publish, references, run, written

LARGE, OTHER = b"l" * 2_500, b"o" * 2_000


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return written(tmp_path)


@pytest.fixture
def letters(configuration: Configuration) -> list[DeadLetter]:
    """Published dead letters of two large records."""
    letters, _ = run(configuration, 1_000, LARGE, OTHER)
    publish(configuration, 1_000, letters)
    assert references(configuration) == {each.blob_reference for each in letters}
    return letters


def publish_again(configuration: Configuration, letters: list[DeadLetter]) -> None:
    """Publish the dead letters of the micro-batch as a replay of a range does."""
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    with OpenDeadLetterBlobs(configuration, Catalog()) as blobs:
        DeadLetterPublication(queue, blobs)([each.to_json() for each in letters], 1, 1_000)


def test_replaced_dead_letters_release_their_blobs(configuration, letters):
    publish_again(configuration, letters)
    assert references(configuration) == {each.blob_reference for each in letters}
    publish_again(configuration, letters[1:])
    assert references(configuration) == {letters[1].blob_reference}


def test_dead_letters_that_stay_keep_their_blobs(configuration, letters):
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    with OpenDeadLetterBlobs(configuration, Catalog()) as blobs:
        DeadLetterPublication(queue, blobs, keeps=lambda letter: letter == letters[1])([], 1, 1_000)
    assert references(configuration) == {letters[1].blob_reference}


def test_reference_is_removed_once_the_dead_letter_is_gone(configuration, letters, monkeypatch):
    """The process is killed at the release."""
    waiting = []

    def killed(*_arguments: object) -> None:
        waiting.append(list(FileDeadLetters(state_of(configuration), "p").entries()))
        raise KilledError

    monkeypatch.setattr(BlobStore, "unpin", killed)
    with pytest.raises(KilledError):
        publish_again(configuration, [])
    assert waiting == [[]]
    assert references(configuration) == {each.blob_reference for each in letters}


def test_release_is_repeated_with_the_publication(configuration, letters, monkeypatch):
    unpin = BlobStore.unpin

    def unavailable(*_arguments: object) -> None:
        monkeypatch.setattr(BlobStore, "unpin", unpin)
        raise StoreUnavailableError("the store does not answer")

    monkeypatch.setattr(BlobStore, "unpin", unavailable)
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    with OpenDeadLetterBlobs(configuration, Catalog()) as blobs:
        publication = DeadLetterPublication(queue, blobs)
        with pytest.raises(StoreUnavailableError):
            publication([], 1, 1_000)
        publication([], 1, 1_000)
    assert references(configuration) == set()


def test_blobs_in_another_blob_store_are_not_released(configuration, letters, tmp_path):
    """The references would stay, and the blobs with them."""
    blobs = {"threshold": "1000B", "block_size": "1MB", "name": "renamed"}
    renamed = written(tmp_path, tables={"events": {"families": {"f": {}}, "blobs": blobs}})
    with OpenDeadLetterBlobs(renamed, Catalog()) as opened, pytest.raises(BlobsElsewhereError):
        opened.check(letters)
