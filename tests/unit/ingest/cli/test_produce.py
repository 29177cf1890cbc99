import pytest

from ingest.api import ConfigError, Decoding, Format, Record
from ingest.cli.produce import produced
from ingest.dry_run.inputs import given_of
from ingest.sources.decoding import Decoder


def record_of(content, form="raw"):
    return produced(0, given_of(0, content), form)


def test_event_becomes_a_record_with_headers():
    assert record_of({"body": "1:2", "key": "k", "attributes": {"a": "1"}, "timestamp_ms": 5}) == Record(
        "", 0, 0, b"k", b"1:2", 5, (("a", b"1"),)
    )


@pytest.mark.parametrize("form", ["raw", "json"])
def test_source_decodes_the_same_event(form):
    content = {
        "body": {"b64": "/w=="},
        "host": "h",
        "priority": "WARN",
        "nanos": 7,
        "attributes": {"a": "x"},
        "key": "k",
    }
    event = Decoder(Decoding(Format(form))).decode(record_of(content, form))
    assert (event.body, event.host, event.priority, event.nanos, event.attributes, event.key) == (
        b"\xff",
        "h",
        "WARN",
        7,
        {"a": b"x"},
        b"k",
    )


def test_record_is_produced_unchanged():
    record = {"value": None, "key": "k", "headers": [["h", None]], "timestamp_ms": 3}
    assert record_of({"record": record}) == Record("", 0, 0, b"k", None, 3, (("h", None),))


def test_avro_needs_a_record():
    with pytest.raises(ConfigError, match="flume_avro"):
        record_of({"body": "x"}, "flume_avro")


@pytest.mark.parametrize("options", [[], ["--events", "e", "--lines", "l"]], ids=str)
def test_one_of_events_and_lines(ingest, folder, options):
    ingest("init", "--template", "kafka")
    assert ingest("produce", *options).code == 2


def test_source_without_a_topic(ingest, pipeline):
    result = ingest("produce", "--events", "events.jsonl")
    assert (result.code, 'pipeline "ticks" reads no topic' in result.err) == (2, True)


def test_topic_must_be_named_when_there_are_several(ingest, folder):
    ingest("init", "--template", "kafka")
    text = (folder / "pipeline.yaml").read_text()
    (folder / "p.yaml").write_text(text.replace("topics: [ticks]", "topics: [ticks, tocks]"))
    result = ingest("produce", "-f", "p.yaml", "--events", "events.jsonl")
    assert (result.code, "--topic NAME" in result.err) == (2, True)


def test_file_without_events(ingest, folder):
    ingest("init", "--template", "kafka")
    (folder / "e.jsonl").write_text("\n")
    assert ingest("produce", "--events", "e.jsonl").code == 2
