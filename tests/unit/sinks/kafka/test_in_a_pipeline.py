"""Two sinks `kafka` of a pipeline: records through the task and the committers of its plan."""

from pathlib import Path

import pytest

from ingest.api import ConfigError, Record, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.plan.assemble import live_task, plan_of
from ingest.plan.plan import Plan
from ingest.receipt import ComponentType, Counts
from ingest.service.committers import committers_of
from tests.support.kafka_server import Answers, KafkaServer, Produced, Refusal
from tests.support.kafka_sink import Topics

MESSAGE_TOO_LARGE = 10
FILE = """\
version: 1
state_dir: ./state
pipelines:
  p:
    source: {kafka: {brokers: "127.0.0.1:PORT", topics: [in]}}
    sinks:
      - kafka: {topic: t, headers: {copy: "%{key}"}}
      - kafka: {topic: parts, label: some, when: "%{body} != 'two'"}
"""


def configured(folder: Path, server: KafkaServer, text: str = FILE) -> tuple[Configuration, Plan]:
    (folder / "p.yaml").write_text(text.replace("PORT", str(server.port)))
    configuration = load(folder / "p.yaml", env={}, lookup=Catalog())
    return configuration, plan_of(configuration, configuration.pipelines["p"], Catalog())


def run(configuration: Configuration, plan: Plan, *values: bytes) -> tuple[Counts, list[DeadLetter]]:
    records = [Record("in", 0, offset, b"k", value, 500) for offset, value in enumerate(values)]
    committers = committers_of(configuration, plan, {}, check_owner=lambda: None)
    for committer in committers.values():
        committer.recover()
    task = live_task(plan)
    try:
        counts, letters = run_until_durable(MicroBatch("1000", 1_000, "1"), committers, InProcessHost(task, records))
    finally:
        task.close()
    return counts, [DeadLetter.from_json(each) for each in letters]


def refusing(value: bytes, topic: str) -> Answers:
    def answer(batch: list[Produced]) -> Refusal | None:
        bad = {at: "too large" for at, each in enumerate(batch) if each.value == value and each.topic == topic}
        return Refusal(MESSAGE_TOO_LARGE, bad) if bad else None

    return answer  # type: ignore[return-value]


def test_each_sink_has_its_events_and_all_are_counted(topics: Topics, tmp_path: Path) -> None:
    topics.serve()
    counts, letters = run(*configured(tmp_path, topics.server), b"one", b"two", b"three")
    assert letters == []
    assert (counts.read, counts.stored, counts.rows_sent, counts.write_calls) == (3, 3, 5, 2)
    written = {(each.topic, each.value) for each in topics.server.accepted}
    assert written == {("t", b"one"), ("t", b"two"), ("t", b"three"), ("parts", b"one"), ("parts", b"three")}
    figures = {name: each.received for (kind, name), each in counts.components.items() if kind is ComponentType.SINK}
    assert figures == {"kafka#1": 3, "some": 2}


def test_refused_record_is_a_dead_letter_of_its_sink_alone(topics: Topics, tmp_path: Path) -> None:
    topics.serve(refusing(b"one", "parts"))
    counts, letters = run(*configured(tmp_path, topics.server), b"one", b"two", b"three")
    (letter,) = letters
    assert (letter.component, letter.code, letter.record.offset) == ("some", "record_too_large", 0)
    assert 'sending the record with key "k" to topic "parts" failed' in letter.message
    assert (counts.stored, counts.dead_lettered) == (2, {"record_too_large": 1})
    # the attempt that found it, and the one in which its event failed
    assert [each.value for each in topics.server.accepted if each.topic == "t"] == [b"one", b"two", b"three"] * 2
    assert {each.value for each in topics.server.accepted if each.topic == "parts"} == {b"three"}


def test_refused_record_can_be_dropped(topics: Topics, tmp_path: Path) -> None:
    topics.serve(refusing(b"one", "t"))
    text = FILE.replace("{topic: t,", "{topic: t, on_error: drop,")
    counts, letters = run(*configured(tmp_path, topics.server, text), b"one", b"two")
    assert (letters, counts.dropped) == ([], {"on_error": 1})


def test_start_refuses_a_topic_of_the_source_under_another_name_of_its_broker(topics: Topics, tmp_path: Path) -> None:
    topics.serve()
    text = FILE.replace("topics: [in]", "topics: [t]").replace(
        "{topic: t,", '{topic: t, brokers: "0.0.0.0:PORT", security: {insecure: true},'
    )
    with pytest.raises(ConfigError, match='would be read again: the source reads "t"'):
        run(*configured(tmp_path, topics.server, text), b"one")


def test_start_waits_for_the_cluster(topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.clients.ANSWER_MS", 300)
    topics.serve()
    parts = configured(tmp_path, topics.server)
    topics.server.close()
    with pytest.raises(StoreUnavailableError):
        run(*parts, b"one")
