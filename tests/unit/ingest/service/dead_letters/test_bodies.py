"""The bodies of dead letters that another publication of their micro-batch replaces."""

from pathlib import Path

import pytest

from ingest.api import StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from ingest.service.dead_letters.bodies import DeadLetterPublication, OpenDeadLetterBodies
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.spark.state import state_of
from sinks.bodies.body_store import BodyStore
from sinks.bodies.errors import BodiesElsewhereError
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
    assert references(configuration) == {each.body_reference for each in letters}
    return letters


def publish_again(configuration: Configuration, letters: list[DeadLetter]) -> None:
    """Publish the dead letters of the micro-batch as a replay of a range does."""
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    with OpenDeadLetterBodies(configuration, Catalog()) as bodies:
        DeadLetterPublication(queue, bodies)([each.to_json() for each in letters], 1, 1_000)


def test_replaced_dead_letters_release_their_bodies(configuration, letters):
    publish_again(configuration, letters)
    assert references(configuration) == {each.body_reference for each in letters}
    publish_again(configuration, letters[1:])
    assert references(configuration) == {letters[1].body_reference}


def test_dead_letters_that_stay_keep_their_bodies(configuration, letters):
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    with OpenDeadLetterBodies(configuration, Catalog()) as bodies:
        DeadLetterPublication(queue, bodies, keeps=lambda letter: letter == letters[1])([], 1, 1_000)
    assert references(configuration) == {letters[1].body_reference}


def test_reference_is_removed_once_the_dead_letter_is_gone(configuration, letters, monkeypatch):
    """The process is killed at the release."""
    waiting = []

    def killed(*_arguments: object) -> None:
        waiting.append(list(FileDeadLetters(state_of(configuration), "p").entries()))
        raise KilledError

    monkeypatch.setattr(BodyStore, "unmark", killed)
    with pytest.raises(KilledError):
        publish_again(configuration, [])
    assert waiting == [[]]
    assert references(configuration) == {each.body_reference for each in letters}


def test_release_is_repeated_with_the_publication(configuration, letters, monkeypatch):
    unmark = BodyStore.unmark

    def unavailable(*_arguments: object) -> None:
        monkeypatch.setattr(BodyStore, "unmark", unmark)
        raise StoreUnavailableError("the store does not answer")

    monkeypatch.setattr(BodyStore, "unmark", unavailable)
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    with OpenDeadLetterBodies(configuration, Catalog()) as bodies:
        publication = DeadLetterPublication(queue, bodies)
        with pytest.raises(StoreUnavailableError):
            publication([], 1, 1_000)
        publication([], 1, 1_000)
    assert references(configuration) == set()


def test_bodies_in_another_body_store_are_not_released(configuration, letters, tmp_path):
    """The references would stay, and the bodies with them."""
    bodies = {"threshold": "1000B", "block_size": "1MB", "name": "renamed"}
    renamed = written(tmp_path, tables={"events": {"families": {"f": {}}, "bodies": bodies}})
    with OpenDeadLetterBodies(renamed, Catalog()) as opened, pytest.raises(BodiesElsewhereError):
        opened.check(letters)
