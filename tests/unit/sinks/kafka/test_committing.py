"""What the driver does for a topic: it looks, and writes nothing."""

import pytest

from ingest.api import Batch, ConfigError, NotFoundError, Origin, StoreUnavailableError
from ingest.sources.kafka import KafkaSourceSettings
from sinks.kafka.errors import NoTopicError
from sinks.kafka.refused import packed, unpacked
from tests.support.kafka_sink import Topics

BATCH = Batch("1000", 1000, "a")
FIRST, SECOND = Origin("s", 0, 1), Origin("s", 0, 2, 3)


def reading(topics: Topics, topic: str) -> KafkaSourceSettings:
    """Options of a source with another name of the same broker."""
    return KafkaSourceSettings.model_validate({"brokers": f"localhost:{topics.server.port}", "topics": [topic]})


def test_start_finds_the_topic(topics: Topics) -> None:
    topics.serve()
    committer = topics.sink().committer(topics.context())
    committer.recover()
    assert committer.prepare(BATCH, ()) == b""
    committer.commit(BATCH, [b"", b""])
    committer.close()
    assert topics.server.batches == []


def test_check_tells_the_partitions(topics: Topics) -> None:
    topics.serve()
    assert topics.sink(topic="parts").check(topics.context()) == "partitions: 3"


def test_missing_topic_is_said_and_not_created(topics: Topics) -> None:
    topics.serve()
    sink = topics.sink(topic="none")
    with pytest.raises(NotFoundError, match='no topic "none"') as caught:
        sink.check(topics.context())
    assert f"kafka-topics.sh --bootstrap-server 127.0.0.1:{topics.server.port} --create --topic none" in str(
        caught.value.hint
    )
    with pytest.raises(NotFoundError):
        sink.committer(topics.context()).recover()


def test_topic_of_the_source_is_refused_whatever_the_brokers_are_called(topics: Topics) -> None:
    topics.serve()
    context = topics.context(source=reading(topics, "t"))
    with pytest.raises(ConfigError, match="would be read again"):
        topics.sink().check(context)
    with pytest.raises(ConfigError, match="would be read again"):
        topics.sink().committer(context).recover()
    topics.sink(topic="parts").committer(context).recover()


def test_cluster_that_does_not_answer_is_waited_for(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.clients.ANSWER_MS", 300)
    topics.serve()
    topics.server.close()
    committer = topics.sink().committer(topics.context())
    with pytest.raises(StoreUnavailableError):
        committer.recover()
    with pytest.raises(StoreUnavailableError):
        committer.probe(b"topic", 1.0)


def test_refused_records_of_all_tasks_and_attempts_reach_the_next_one(topics: Topics) -> None:
    topics.serve()
    committer = topics.sink().committer(topics.context())
    requests = [packed({FIRST: ("record_too_large", "a")}), packed({SECOND: ("bad_record", "b")})]
    prepared = committer.prepare(BATCH, requests)
    assert unpacked([prepared]) == {FIRST: ("record_too_large", "a"), SECOND: ("bad_record", "b")}


def test_probe_waits_for_enough_replicas(topics: Topics) -> None:
    """Else each attempt would add a copy to the partitions that can be written to."""
    topics.serve()
    topics.server.min_in_sync = 2
    with pytest.raises(StoreUnavailableError, match="3 of its partitions have fewer replicas in sync"):
        topics.sink(topic="parts").committer(topics.context()).probe(b"topic", 1.0)
    assert topics.server.batches == []


def test_probe_waits_for_the_topic_and_its_leaders(topics: Topics) -> None:
    topics.serve()
    topics.sink().committer(topics.context()).probe(b"topic", 1.0)
    with pytest.raises(NoTopicError, match="none"):
        topics.sink(topic="none").committer(topics.context()).probe(b"topic", 1.0)
    topics.server.leaderless.add("parts")
    with pytest.raises(StoreUnavailableError, match="3 of its partitions have no leader"):
        topics.sink(topic="parts").committer(topics.context()).probe(b"topic", 1.0)
    assert topics.server.batches == []
