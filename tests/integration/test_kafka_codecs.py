"""Topics whose record batches are compressed: dead letters in them, their records, and the limit of a batch."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from ingest.api import Record, SourceError
from ingest.catalog import Catalog
from ingest.cli import main
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.kafka.codecs import decompressed
from ingest.kafka.decompression import read_all_codecs
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.tail import TopicTail
from ingest.service.dead_letters.queues import dead_letter_queue
from tests.support.servers import Kafka

CODECS = ["gzip", "snappy", "lz4", "zstd"]
COUNT = 300
BATCH_MS = 1_700_000_000_000


def written(folder: Path, kafka: Kafka, topic: str, letters: str, envelope: str = "json") -> Configuration:
    """A configuration whose pipeline stores each event under its key."""
    content = {
        "version": 1,
        "stores": {"s": {"rocksdb": {"path": str(folder / "store")}}},
        "tables": {"t": {"families": {"f": {}}}},
        "state_dir": str(folder / "state"),
        "service": {"http": {"listen": "127.0.0.1:1"}},  # no service answers there
        "pipelines": {
            "p": {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic]}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{key}"}}],
                "sinks": [{"attr2hbase": {"table": "t", "write_body": "f:body"}}],
                "dead_letters": {"kafka": {"topic": letters, "envelope": envelope}},
            }
        },
    }
    file = folder / "p.yaml"
    file.write_text(yaml.safe_dump(content))
    return load(file, env={}, lookup=Catalog())


def letter(topic: str, number: int) -> bytes:
    return DeadLetter(
        record=Record(
            topic, 0, number, b"key-%03d" % number, b"the same value " * 20, BATCH_MS, (("h", b"1"), ("h", None))
        ),
        fan_out=0,
        attributes={},
        pipeline="p",
        component="value",
        code="decorate",
        message="no",
        batch_time_ms=BATCH_MS,
        fingerprint="f",
    ).to_json()


@pytest.mark.parametrize(("codec", "envelope"), [*zip(CODECS, ["json", "headers"] * 2, strict=True)])
def test_dead_letters_in_a_compressed_topic_are_listed_shown_and_replayed(
    codec: str, envelope: str, kafka: Kafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    topic, letters = kafka.create_topic("in"), kafka.create_topic("dead", config={"compression.type": codec})
    configuration = written(tmp_path, kafka, topic, letters, envelope)
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([letter(topic, number) for number in range(COUNT)], 1, BATCH_MS)
    queue.close()
    file = str(tmp_path / "p.yaml")

    def done(*arguments: str) -> list[dict]:
        capfd.readouterr()
        code = main([*arguments, "--output", "json"])
        out, err = capfd.readouterr()
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    assert len(done("dead-letters", "list", "-f", file)) == COUNT
    checked = doctor(file, capfd)
    assert ("readable", "the newest one") in {(each["check"], each["found"]) for each in checked["passed"]}
    (shown,) = done("dead-letters", "show", "-f", file, "0:299")
    assert shown["record"] == json.loads(letter(topic, COUNT - 1))["record"]
    newest = kafka.records(letters)[-1]
    assert newest.key == (b"key-299" if envelope == "headers" else f"{topic}/0/299/0/value".encode())
    done("dead-letters", "replay", "-f", file)
    assert len(done("scan", "-f", file, "t")) == COUNT


@pytest.fixture
def low_limit() -> Iterator[None]:
    """A record batch may have 20,000 bytes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ingest.kafka.decompression.decompressed", partial(decompressed, max_bytes=20_000))
        yield
    read_all_codecs()  # the consumers of this process keep the limit that they were given


@pytest.mark.usefixtures("low_limit")
def test_doctor_warns_of_a_dead_letter_that_cannot_be_read(
    kafka: Kafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    topic, letters = kafka.create_topic("in"), kafka.create_topic("dead", config={"compression.type": "zstd"})
    written(tmp_path, kafka, topic, letters)
    kafka.produce(letters, [b"x" * 30_000])
    (finding,) = [each for each in doctor(str(tmp_path / "p.yaml"), capfd)["findings"] if each["check"] == "readable"]
    assert (finding["severity"], "record batch of" in finding["message"]) == ("warning", True)


def doctor(file: str, capfd: pytest.CaptureFixture[str]) -> dict:
    """What `doctor` prints of a file."""
    capfd.readouterr()
    main(["doctor", file, "--output", "json"])
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("codec", CODECS)
def test_keys_of_a_compressed_topic_are_analysed(
    codec: str, kafka: Kafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic("in", config={"compression.type": codec})
    kafka.produce(topic, ["the same value " * 20] * COUNT)
    written(tmp_path, kafka, topic, "dead")
    code = main(["admin", "keys", "analyse", "-f", str(tmp_path / "p.yaml"), "--topic", "200", "--output", "json"])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert sum(json.loads(out)["events"].values()) == 200


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("codec", CODECS)
def test_batch_above_the_limit_is_an_error_with_its_place(codec: str, kafka: Kafka) -> None:
    topic = kafka.create_topic("large", config={"compression.type": codec})
    kafka.produce(topic, ["small"])
    kafka.produce(topic, [b"x" * 30_000])
    found = TopicTail(KafkaConnection.model_validate({"brokers": kafka.brokers})).read(topic)
    assert next(found).value == b"small"
    with pytest.raises(SourceError) as caught:
        next(found)
    assert caught.value.code == "record_batch_too_large"
    begin = f'reading topic "{topic}" failed: partition 0 at offset 1: record batch of '
    assert caught.value.message.startswith(begin)
