"""`ingest dead-letters replay` into a table with deferred updates."""

import shutil

import pytest

from ingest.service.batches import batch_log_folder
from ingest.service.dead_letters import dead_letter_queue
from tests.support.update_pipeline import BATCH_MS, Pipeline


@pytest.fixture
def updated(folder) -> Pipeline:
    """A pipeline with a dead letter of its first micro-batch, for the sink of the updates."""
    made = Pipeline(folder)
    configuration = made.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.prepare()
    queue.publish([made.dead_letter("counts").to_json()], 0, BATCH_MS)
    return made


def replay(ingest, *options: str):
    return ingest("dead-letters", "replay", "p.yaml", *options, "--output", "json")


def test_record_is_counted_once(ingest, updated: Pipeline):
    assert replay(ingest).json["replayed"] == 1
    assert replay(ingest).json["selected"] == 0
    assert [value for _, value in updated.updates()] == [b"2"]


def test_record_that_ran_again_is_skipped(ingest, updated: Pipeline):
    updated.log(2_000, "counts")
    result = replay(ingest)
    assert (result.code, result.json["replayed"], result.json["skipped"]) == (0, 0, {"ran_again": 1})
    assert replay(ingest).json["selected"] == 0
    assert updated.updates() == []


def test_micro_batch_that_is_no_longer_logged_needs_recount(ingest, updated: Pipeline):
    shutil.rmtree(batch_log_folder(updated.load(), "p"))
    refused = replay(ingest)
    assert (refused.code, "add --recount" in refused.err) == (4, True), refused.err
    assert updated.updates() == []
    assert replay(ingest, "--recount").json["replayed"] == 1
    assert [value for _, value in updated.updates()] == [b"2"]
