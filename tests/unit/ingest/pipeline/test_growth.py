"""What the events of one record may hold in memory."""

import zlib

import pytest

from decorators.unbatch import Unbatch
from ingest.api import Event, FanOut, Settings
from ingest.catalog import Catalog
from ingest.pipeline import chain as chain_module
from ingest.pipeline import growth
from ingest.pipeline.chain import Chain
from ingest.pipeline.outcomes import BoundDecorator, Failed
from ingest.testing.events import settings_of

LIMIT = 200_000
EVENT_BYTES = 500  # as counted


@pytest.fixture(autouse=True)
def _low(monkeypatch):
    monkeypatch.setattr("ingest.api.growth.MAX_GROWN_BYTES", LIMIT)
    monkeypatch.setattr(growth, "LARGE_EVENT_BYTES", 1_000)
    monkeypatch.setattr(chain_module, "LARGE_EVENT_BYTES", 1_000)
    monkeypatch.setattr(growth, "_LARGE_RECORD_BYTES", 10_000)
    monkeypatch.setattr(growth, "_STEP_ENTRIES", 100)


def chain_of(*decorators, max_event_bytes=1, watcher=None):
    catalog = Catalog()
    bound = []
    for kind, text in decorators:
        component = catalog.load("decorators", kind)
        bound.append(BoundDecorator(component(settings_of(component.settings_class(), text)), kind))
    return Chain(bound, max_event_bytes=max_event_bytes, watcher=watcher)


def array(parts):
    return b"[" + b",".join([b"1"] * parts) + b"]"


def codes(outcomes):
    return [outcome.error.code if isinstance(outcome, Failed) else "" for outcome in outcomes]


EXPLODE = ("explode", "{source: items, max_events: 100000}")
WATCHERS = pytest.mark.parametrize("watcher", [None, lambda *_: None], ids=["service", "explain"])


@WATCHERS
def test_copies_of_many_attributes_fail_the_event_before_all_are_made(monkeypatch, watcher):
    made = []
    copy = Event.copy
    monkeypatch.setattr(Event, "copy", lambda event: made.append(event) or copy(event))
    attributes = {f"a{number}": b"1" for number in range(90)}
    chain = chain_of(EXPLODE, watcher=watcher)
    (outcome,) = chain.run(Event(b"", attributes | {"items": array(10_000)}))
    assert (outcome.error.code, outcome.component) == ("too_large", "explode")
    assert len(made) < 100
    assert len(chain.run(Event(b"", attributes | {"items": array(20)}))) == 20


def test_an_event_that_no_decorator_changes_is_not_measured():
    event = Event(b"x" * 2_000, {f"a{number}": b"1" for number in range(3_000)})
    assert chain_of().run(event) == (event,)


@pytest.mark.parametrize("kind", ["mult", "explode"])
def test_too_many_events_fail_the_event(kind):
    decorator = ("mult", "{n: 1000}") if kind == "mult" else EXPLODE
    (outcome,) = chain_of(decorator).run(Event(b"", {"items": array(1_000)}))
    assert outcome.error.code == "too_large"
    assert "max_event_bytes" in outcome.error.hint


def test_values_that_events_share_take_memory_once():
    """As of a batch that stays in an attribute while its parts become events."""
    outcomes = chain_of(EXPLODE, ("copy", "{source: batch, attribute: again}")).run(
        Event(b"x" * 50_000, {"items": array(40), "batch": b"y" * 100_000})
    )
    assert codes(outcomes) == [""] * 40
    assert {outcome.attributes["again"] for outcome in outcomes} == {b"y" * 100_000}


@WATCHERS
@pytest.mark.parametrize(
    "decorator", [("format", "{template: '%{batch}%{offset}'}"), ("case", "{to: upper, attributes: [batch]}")]
)
def test_values_that_each_event_repeats_fail_the_events_beyond_the_limit(decorator, watcher):
    outcomes = chain_of(EXPLODE, decorator, watcher=watcher).run(
        Event(b"", {"items": array(100), "batch": b"y" * 20_000})
    )
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    assert {outcome.error.code for outcome in failed} == {"too_large"}
    assert 90 < len(failed) < 100
    assert all(not outcome.event.attributes and not outcome.event.body for outcome in failed)
    assert len(outcomes) == 100


@pytest.mark.parametrize("part", ["body", "key", "header"])
def test_a_record_is_large_by_any_of_its_parts(part):
    headers = {"header": b"y" * 20_000} if part == "header" else {}
    event = Event(b"y" * 20_000 * (part == "body"), headers, key=b"y" * 20_000 * (part == "key"))
    double = f"{{template: '%{{{part}}}%{{{part}}}'}}"
    found = codes(chain_of(("mult", "{n: 10}"), ("format", double)).run(event))
    assert (found.count(""), found.count("too_large")) == (4, 6)


def test_many_events_of_a_small_record_are_measured():
    """In all they are large, by the key that each of them repeats."""
    events = chain_of(("mult", "{n: 30}"), ("format", f"{{template: '{'%{key}' * 10}'}}")).run(
        Event(b"", key=b"y" * 900)
    )
    assert 15 < codes(events).count("") < 25


def test_many_empty_events_of_two_fan_outs_are_counted():
    found = codes(chain_of(("mult", "{n: 20}"), ("mult", "{n: 25}")).run(Event(b"")))
    assert "too_large" in found
    assert found.count("") * EVENT_BYTES < LIMIT


def test_few_events_of_each_of_several_fan_outs_are_many():
    found = codes(chain_of(EXPLODE, *[("mult", "{n: 10}")] * 2).run(Event(b"", {"items": array(10)})))
    assert "too_large" in found
    assert found.count("") * EVENT_BYTES < LIMIT


def test_two_fan_outs_count_together():
    found = codes(chain_of(EXPLODE, ("mult", "{n: 20}")).run(Event(b"", {"items": array(50)})))
    assert len(set(found)) > 1
    assert found.count("") * EVENT_BYTES < LIMIT


@WATCHERS
def test_a_large_event_that_grows_fails(watcher):
    doubles = [("format", "{template: '%{body}%{body}'}")] * 10
    (outcome,) = chain_of(*doubles, watcher=watcher).run(Event(b"x" * 2_000))
    assert outcome.error.code == "too_large"
    assert len(outcome.event.body) == 0


def test_an_event_is_large_by_its_key_too():
    doubles = [("format", "{template: '%{key}%{key}'}"), *[("format", "{template: '%{body}%{body}'}")] * 10]
    (outcome,) = chain_of(*doubles).run(Event(b"", key=b"x" * 2_000))
    assert outcome.error.code == "too_large"


def test_a_large_event_that_does_not_grow_passes_any_number_of_decorators():
    upper_and_lower = [("case", "{to: upper}"), ("case", "{to: lower}")] * 10
    (outcome,) = chain_of(*upper_and_lower).run(Event(b"x" * 150_000))
    assert outcome.body == b"x" * 150_000


@WATCHERS
@pytest.mark.parametrize("more", [(), (("explode", "{form: lines}"),)], ids=["alone", "before a fan-out"])
def test_an_event_is_measured_after_it_was_decompressed(watcher, more):
    def record(body):
        return len(body).to_bytes(4, "big") + body + (0).to_bytes(8, "big") + (3).to_bytes(4, "big") + bytes(14)

    def run(body):
        compressor = zlib.compressobj(wbits=31)
        packed = compressor.compress(record(body)) + compressor.flush()
        (outcome,) = chain_of(("gunzip", "{}"), ("format", "{template: '%{body}%{body}'}"), *more, watcher=watcher).run(
            Event(b"", {"compressGzip": packed})
        )
        return outcome

    assert len(run(b"x" * 50_000).body) == 100_000
    assert run(b"x" * 150_000).component == "format"
    assert run(b"x" * 150_000).error.code == "too_large"
    assert run(b"x" * 300_000).component == "gunzip"


def test_larger_records_may_grow_more():
    outcomes = chain_of(EXPLODE, max_event_bytes=1_000_000).run(Event(b"", {"items": array(1_000)}))
    assert codes(outcomes) == [""] * 1_000


def test_events_of_a_plugin_are_counted_too():
    class Copies(FanOut[Settings]):
        kind = "copies"

        def decorate(self, event):
            return [Event(b"", dict(event.attributes)) for _ in range(1_000)]

    (outcome,) = Chain([BoundDecorator(Copies(Settings()), "copies", provider="mine")], max_event_bytes=1).run(
        Event(b"")
    )
    assert outcome.error.code == "too_large"


def test_a_batch_of_too_many_events_fails_before_they_are_made(monkeypatch):
    monkeypatch.setattr("decorators.unbatch.MAX_EVENTS_OF_A_RECORD", 3)
    data = (bytes(4) + (0).to_bytes(8, "big") + (3).to_bytes(4, "big") + bytes(14)) * 4
    event = Event(b"", {"batchSize": (4).to_bytes(4, "big"), "batchData": data})
    (outcome,) = Chain([BoundDecorator(Unbatch(settings_of(Unbatch.settings_class())), "unbatch")]).run(event)
    assert outcome.error.code == "too_many_parts"
