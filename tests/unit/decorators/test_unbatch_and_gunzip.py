"""The decorators that unpack Flume's batches and compressed events."""

import gzip
from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.gunzip import Gunzip
from decorators.unbatch import Unbatch
from ingest.api import Origin, Priority
from ingest.formats.flume_record import records_in
from ingest.testing.events import event_of, settings_of

INT32, INT64 = (1 << 31) - 1, (1 << 63) - 1
TEXTS = st.text(max_size=8)


def java_text(text):
    """java.io.DataOutput.writeUTF: one to three bytes for each UTF-16 unit, two for NUL."""
    units = text.encode("utf-16-be")
    written = b"".join(
        chr(unit).encode("utf-8", "surrogatepass") if unit else b"\xc0\x80"
        for unit in (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    )
    return pack(">H", len(written)) + written


def written(event):
    """A record as Flume writes it."""
    core = pack(">qiq", event.timestamp_ms, list(Priority).index(event.priority), event.nanos)
    attributes = b"".join(java_text(name) + pack(">i", len(value)) + value for name, value in event.attributes.items())
    head = pack(">i", len(event.body)) + event.body + core + java_text(event.host)
    return head + pack(">i", len(event.attributes)) + attributes


EVENTS = st.builds(
    event_of,
    st.binary(max_size=20),
    st.dictionaries(TEXTS, st.binary(max_size=10), max_size=4),
    host=TEXTS,
    priority=st.sampled_from(Priority),
    timestamp_ms=st.integers(-INT64, INT64),
    nanos=st.integers(-INT64, INT64),
)


def unbatched(event):
    return list(Unbatch(settings_of(Unbatch.settings_class())).decorate(event))


def gunzip(text="{}"):
    return Gunzip(settings_of(Gunzip.settings_class(), text))


@given(st.lists(EVENTS, max_size=5))
def test_batched_events_are_emitted_in_order(events):
    attributes = {"batchSize": pack(">i", len(events)), "batchData": b"".join(map(written, events))}
    wrapper = event_of(b"", attributes, key=b"k", origin=Origin("t", 1, 2))
    found = unbatched(wrapper)
    assert [(event.key, event.origin) for event in found] == [(b"k", Origin("t", 1, 2))] * len(events)
    for event, expected in zip(found, events, strict=True):
        event.key, event.origin = expected.key, expected.origin
        assert event == expected


@given(EVENTS)
def test_compressed_event_is_restored(expected):
    event = event_of(b"", {"compressGzip": gzip.compress(written(expected)), "other": b"1"}, key=b"k")
    assert gunzip().decorate(event) is True
    event.key = expected.key
    assert event == expected


@given(st.binary(max_size=60))
def test_any_bytes_are_records_or_fail(content):
    with suppress(ValueError):
        list(records_in(content))


@given(EVENTS, st.data())
def test_truncated_record_fails(event, data):
    content = written(event)
    end = data.draw(st.integers(1, len(content) - 1))
    with pytest.raises(ValueError, match="is truncated at byte"):
        list(records_in(content[:end]))


@pytest.mark.parametrize("missing", ["batchSize", "batchData"])
def test_batch_needs_both_attributes(missing):
    attributes = {"batchSize": b"\0\0\0\0", "batchData": b""}
    del attributes[missing]
    event = event_of(b"x", attributes)
    assert unbatched(event) == [event]


@pytest.mark.parametrize("size", [b"", b"\0\0\0\1", b"\0\0\0\0\0", b"\xff\xff\xff\xff"])
def test_wrong_number_of_events_fails(refusal_of, size):
    assert refusal_of(Unbatch, "{}", attributes={"batchSize": size, "batchData": b""}) == "bad_batch"


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 28, b"\0\0\0\0" + pack(">qiq", 0, 6, 0), pack(">i", -1), written(event_of(b"a")) * 2]
)
def test_zero_or_several_records_fail(refusal_of, content):
    assert refusal_of(Gunzip, "{}", attributes={"compressGzip": gzip.compress(content)}) == "bad_gzip"


def test_truncated_data_fails(refusal_of):
    packed = gzip.compress(written(event_of(b"a" * 1_000)))
    assert refusal_of(Gunzip, "{}", attributes={"compressGzip": packed[:-9]}) == "bad_gzip"


def test_data_after_the_event_fails(refusal_of):
    packed = gzip.compress(written(event_of(b"a")))
    for rest in (packed, b"\0", b"rubbish"):
        assert refusal_of(Gunzip, "{}", attributes={"compressGzip": packed + rest}) == "bad_gzip"


def test_too_large_decompressed_event_fails(refusal_of):
    content = written(event_of(b"a" * 1_000))
    packed = gzip.compress(content)
    settings = f"{{max_bytes: {len(content) - 1}B}}"
    assert refusal_of(Gunzip, settings, attributes={"compressGzip": packed}) == "too_large"
    event = event_of(b"", {"compressGzip": packed})
    assert gunzip(f"{{max_bytes: {len(content)}B}}").decorate(event) is True


def test_maximum_of_max_bytes_works(attributes_after, errors_of):
    packed = gzip.compress(written(event_of(b"a")))
    attributes_after(Gunzip, "{max_bytes: 8589934591.999999GiB}", attributes={"compressGzip": packed})
    for size in ("8589934592GiB", "99999999999GB"):
        assert errors_of(Gunzip, f"{{max_bytes: {size}}}") == [("out_of_range", ("max_bytes",))]
