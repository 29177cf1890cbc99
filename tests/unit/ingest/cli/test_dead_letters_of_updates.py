"""`attr2hbase dead-letters replay` into a table with deferred updates."""

import json
import shutil
from contextlib import closing
from dataclasses import replace

import pytest

from ingest.clock import now_ms
from ingest.dead_letters.envelope import DeadLetter
from ingest.formats.times import moment
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.state_folders import batch_log_folder
from ingest.spark.streaming.batch_time import BatchTimes
from tests.support.checkpoint import acknowledge
from tests.support.update_pipeline import BATCH_MS, Pipeline


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    """None runs, and its clock is not awaited for long."""
    monkeypatch.setattr("ingest.kafka.clients.ANSWER_MS", 50)


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
    return ingest("dead-letters", "replay", "-f", "p.yaml", *options, "--output", "json")


def test_record_is_counted_once(ingest, updated: Pipeline):
    assert replay(ingest).json["replayed"] == 1
    assert replay(ingest).json["selected"] == 0
    assert [value for _, value in updated.updates()] == [b"2"]


def roll_back(ingest, time_ms: int) -> None:
    done = ingest("rollback", "-f", "p.yaml", "counts", "--from", moment(time_ms), "--to", moment(time_ms), "--yes")
    assert done.code == 0, done.err


@pytest.mark.parametrize("source", ["kafka", "files"])
def test_record_that_a_replay_has_counted_is_skipped(ingest, updated: Pipeline, source):
    if source == "files":  # without a batch log
        content = json.loads((updated.folder / "p.yaml").read_text())
        content["pipelines"]["p"]["source"] = {"files": {"path": "."}}
        (updated.folder / "p.yaml").write_text(json.dumps(content))
    assert replay(ingest).json["replayed"] == 1
    again = replay(ingest, "--all").json
    assert (again["selected"], again["replayed"], again["skipped"]) == (1, 0, {"counted": 1})
    assert replay(ingest, "--recount").json["selected"] == 0
    [(first_ms, value)] = updated.updates()
    assert value == b"2"
    roll_back(ingest, first_ms)
    assert replay(ingest, "--all").json["replayed"] == 1
    assert replay(ingest, "--all").json["skipped"] == {"counted": 1}
    [(second_ms, value)] = updated.updates()
    assert (second_ms > first_ms, value) == (True, b"2")
    assert replay(ingest, "--all", "--recount").json["replayed"] == 1
    assert [value for _, value in updated.updates()] == [b"2", b"2"]


@pytest.mark.parametrize("table", [None, "counts"])
def test_dead_letter_of_a_sink_that_the_file_lacks_is_not_counted_by_the_others(ingest, updated: Pipeline, table):
    """Nor is it lost: it runs once the sink has its name again, or with --recount."""
    configuration = updated.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([replace(updated.dead_letter("renamed"), table=table).to_json()], 0, BATCH_MS)
    assert replay(ingest, "--dry-run").json["skipped"] == {"sink_unknown": 1}
    done = replay(ingest)
    assert (done.code, done.json["replayed"], done.json["skipped"]) == (1, 0, {"sink_unknown": 1})
    assert "its label" in ingest("dead-letters", "replay", "-f", "p.yaml").err
    assert updated.updates() == []
    assert replay(ingest, "--recount").json["replayed"] == 1
    assert [value for _, value in updated.updates()] == [b"2"]


def test_dead_letter_of_several_events_that_the_file_makes_no_more_is_not_counted(ingest, updated: Pipeline):
    """`explode` was removed; the events that did not fail are in the table."""
    configuration = updated.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([replace(updated.dead_letter("counts"), fan_out=3).to_json()], 0, BATCH_MS)
    assert replay(ingest, "--dry-run").json["skipped"] == {"fan_out": 1}
    done = replay(ingest)
    assert (done.code, done.json["replayed"], done.json["skipped"]) == (1, 0, {"fan_out": 1})
    assert updated.updates() == []
    assert replay(ingest, "--recount").json["replayed"] == 1


def test_dead_letter_of_a_decorator_that_the_file_lacks_runs_into_all_sinks(ingest, updated: Pipeline):
    configuration = updated.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([replace(updated.dead_letter("removed"), table="").to_json()], 0, BATCH_MS)
    done = ingest("dead-letters", "replay", "-f", "p.yaml")
    assert done.code == 0
    assert "neither a sink nor a decorator of the name: removed" in done.err
    assert [value for _, value in updated.updates()] == [b"2"]


def test_dead_letter_of_a_pipeline_with_several_events_of_a_record_is_refused(ingest, updated: Pipeline):
    content = json.loads((updated.folder / "p.yaml").read_text())
    content["pipelines"]["p"]["decorators"].append({"explode": {"form": "lines"}})
    (updated.folder / "p.yaml").write_text(json.dumps(content))
    refused = replay(ingest)
    assert (refused.code, json.loads(refused.err.splitlines()[-1])["error"]["code"]) == (4, "fan_out")
    assert updated.updates() == []


def test_skipped_reason_is_shown(ingest, updated: Pipeline):
    replay(ingest)
    shown = ingest("dead-letters", "replay", "-f", "p.yaml", "--all").err
    assert "1 dead letter, because a replay has counted their events in deferred updates; --all --recount" in shown


def test_record_that_failed_again_in_another_sink_is_counted_once(ingest, updated: Pipeline):
    queue = dead_letter_queue(updated.load(), updated.load().pipelines["p"])
    queue.publish([updated.dead_letter("template").to_json()], 0, BATCH_MS)
    content = json.loads((updated.folder / "p.yaml").read_text())
    content["pipelines"]["p"]["sinks"][1]["attr2hbase"]["columns"] = {"name_pattern": "other"}
    whole = (updated.folder / "p.yaml").read_text()
    (updated.folder / "p.yaml").write_text(json.dumps(content))
    failed = replay(ingest)
    assert (failed.code, failed.json["failed_again"]) == (1, {"bad_column_name": 1})
    assert ([value for _, value in updated.updates()], updated.values()) == ([b"2"], [])
    (updated.folder / "p.yaml").write_text(whole)
    assert replay(ingest).json["replayed"] == 1
    assert ([value for _, value in updated.updates()], len(updated.values())) == ([b"2"], 1)


def publish(updated: Pipeline, letter: DeadLetter, value: bytes) -> None:
    """Publish the dead letters of a record of the body 2 and of one with another body."""
    queue = dead_letter_queue(updated.load(), updated.load().pipelines["p"])
    other = replace(letter, record=letter.record._replace(value=value))
    queue.publish([updated.dead_letter("counts").to_json(), other.to_json()], 0, BATCH_MS)


def test_record_that_failed_again_beside_one_that_was_counted_is_replayed_again(ingest, updated: Pipeline):
    publish(updated, updated.dead_letter("counts", 1), b"many")
    assert replay(ingest).json["replayed"] == 1
    again = replay(ingest).json
    assert (again["failed_again"], again["skipped"]) == ({"not_a_number": 1}, {})


def test_record_that_failed_again_before_the_sinks_is_counted_when_it_succeeds(ingest, updated: Pipeline):
    publish(updated, updated.dead_letter("template", 1), b"7")
    updated.load({"regex": {"pattern": "(2)", "attributes": ["n"], "on_no_match": "error"}})
    assert replay(ingest).json["failed_again"] == {"no_match": 1}
    updated.load()
    assert replay(ingest).json["replayed"] == 1
    assert sorted(value for _, value in updated.updates()) == [b"2", b"7"]


def test_record_that_failed_in_a_sink_that_is_gone_needs_no_replay(ingest, updated: Pipeline):
    queue = dead_letter_queue(updated.load(), updated.load().pipelines["p"])
    queue.publish([updated.dead_letter("template").to_json()], 0, BATCH_MS)
    content = json.loads((updated.folder / "p.yaml").read_text())
    [_, values] = content["pipelines"]["p"]["sinks"]
    values["attr2hbase"]["columns"] = {"name_pattern": "other"}
    (updated.folder / "p.yaml").write_text(json.dumps(content))
    assert replay(ingest).json["failed_again"] == {"bad_column_name": 1}
    content["pipelines"]["p"]["sinks"].remove(values)
    (updated.folder / "p.yaml").write_text(json.dumps(content))
    assert replay(ingest).json["skipped"] == {"counted": 1}
    assert [entry.mark.code for entry in queue.entries()] == ["counted"]
    assert replay(ingest).json["selected"] == 0


def test_record_that_was_dropped_is_counted_by_another_replay(ingest, updated: Pipeline):
    updated.load({"filter": {"drop": "%{body} == '2'", "reason": "two"}})
    assert replay(ingest).json["dropped"] == {"two": 1}
    updated.load()
    assert replay(ingest, "--all").json["replayed"] == 1
    assert [value for _, value in updated.updates()] == [b"2"]


def publish_of_decorator(updated: Pipeline) -> None:
    """Publish a dead letter of a decorator in place of the other, which runs into all sinks."""
    queue = dead_letter_queue(updated.load(), updated.load().pipelines["p"])
    queue.publish([replace(updated.dead_letter("regex"), table="").to_json()], 0, BATCH_MS)


@pytest.mark.parametrize("when", ["%{body} == 'x'", "%{body} == '2'"])
def test_record_that_one_of_its_sinks_stores_is_not_dropped(ingest, updated: Pipeline, when):
    publish_of_decorator(updated)
    content = json.loads((updated.folder / "p.yaml").read_text())
    content["pipelines"]["p"]["sinks"][1]["attr2hbase"]["when"] = when
    content["pipelines"]["p"]["decorators"].insert(0, {"value": {"label": "regex", "attribute": "a", "value": "b"}})
    (updated.folder / "p.yaml").write_text(json.dumps(content))
    result = replay(ingest).json
    assert (result["replayed"], result["dropped"]) == (1, {})
    assert len(updated.values()) == (when == "%{body} == '2'")
    again = replay(ingest, "--all").json  # the other sink has counted it
    assert (again["dropped"], len(updated.updates())) == ({}, 1)


def test_record_that_a_decorator_drops_counts_once_for_all_sinks(ingest, updated: Pipeline):
    publish_of_decorator(updated)
    updated.load({"filter": {"drop": "%{body} == '2'", "reason": "two", "label": "regex"}})
    assert replay(ingest).json["dropped"] == {"two": 1}


def test_record_that_no_sink_takes_counts_as_dropped(ingest, updated: Pipeline):
    publish_of_decorator(updated)
    content = json.loads((updated.folder / "p.yaml").read_text())
    for sink in content["pipelines"]["p"]["sinks"]:
        sink["attr2hbase"]["when"] = "%{body} == 'x'"
    (updated.folder / "p.yaml").write_text(json.dumps(content))
    assert replay(ingest).json["dropped"] == {"no_sink": 1}


def test_record_that_ran_again_is_skipped(ingest, updated: Pipeline):
    updated.log(2_000, "counts")
    result = replay(ingest)
    assert (result.code, result.json["replayed"], result.json["skipped"]) == (0, 0, {"ran_again": 1})
    assert replay(ingest).json["selected"] == 0
    assert updated.updates() == []


def lose_state(updated: Pipeline) -> None:
    """
    Lose the state of the pipeline, but not the dead letters, as in a topic; a new checkpoint starts at the committed
    positions.
    """
    with closing(dead_letter_queue(updated.load(), updated.load().pipelines["p"])) as queue:
        lines = [entry.dead_letter.to_json() for entry in queue.entries()]
    shutil.rmtree(updated.folder / "state")
    acknowledge(updated.checkpoint, 0, {"t": {0: 10}})
    BatchTimes(updated.checkpoint / "times", now_ms).of(0)
    with closing(dead_letter_queue(updated.load(), updated.load().pipelines["p"])) as queue:
        queue.publish(lines, 0, BATCH_MS)


def test_dead_letters_are_counted_once_though_the_state_is_lost(ingest, updated: Pipeline):
    queue = dead_letter_queue(updated.load(), updated.load().pipelines["p"])
    queue.publish([updated.dead_letter("counts", offset).to_json() for offset in range(4)], 0, BATCH_MS)
    positions = [entry.position for entry in queue.entries()]
    assert replay(ingest, *positions[:2]).json["replayed"] == 2
    lose_state(updated)
    refused = replay(ingest)
    assert (refused.code, "add --recount" in refused.err, len(updated.updates())) == (4, True, 2)
    third = next(entry.dead_letter.id for entry in queue.entries() if entry.dead_letter.record.offset == 2)
    assert replay(ingest, "--recount", third).json["replayed"] == 1
    lose_state(updated)
    result = replay(ingest, "--recount").json
    assert (result["replayed"], result["skipped"]) == (1, {"counted": 3})
    lose_state(updated)
    assert replay(ingest, "--all", "--recount").json["skipped"] == {"counted": 4}
    assert [value for _, value in updated.updates()] == [b"2"] * 4


def test_replay_that_was_rolled_back_before_the_state_was_lost_is_counted(ingest, updated: Pipeline):
    assert replay(ingest).json["replayed"] == 1
    [(time_ms, _)] = updated.updates()
    roll_back(ingest, time_ms)
    lose_state(updated)
    assert replay(ingest, "--recount").json["replayed"] == 1
    lose_state(updated)
    assert replay(ingest, "--recount").json["skipped"] == {"counted": 1}
    assert [value for _, value in updated.updates()] == [b"2"]


def test_renamed_sink_counts_no_dead_letter_a_second_time(ingest, updated: Pipeline):
    assert replay(ingest).json["replayed"] == 1
    content = json.loads((updated.folder / "p.yaml").read_text())
    content["pipelines"]["p"]["sinks"][0]["attr2hbase"]["label"] = "renamed"
    (updated.folder / "p.yaml").write_text(json.dumps(content))
    replay(ingest, "--all")
    assert [value for _, value in updated.updates()] == [b"2"]


def test_micro_batch_that_is_no_longer_logged_needs_recount(ingest, updated: Pipeline):
    shutil.rmtree(batch_log_folder(updated.load(), "p"))
    refused = replay(ingest)
    assert (refused.code, "add --recount" in refused.err) == (4, True), refused.err
    assert updated.updates() == []
    assert replay(ingest, "--recount").json["replayed"] == 1
    assert [value for _, value in updated.updates()] == [b"2"]
