"""What the events of one record may hold in memory."""

import gc
import weakref
import zlib

import pytest

from decorators.unbatch import Unbatch
from ingest.api import DecorateError, Event, FanOut, Settings
from ingest.catalog import Catalog
from ingest.pipeline import chain as chain_module
from ingest.pipeline import growth as growth_of
from ingest.pipeline.chain import Chain
from ingest.pipeline.growth import Growth
from ingest.pipeline.outcomes import BoundDecorator, Failed
from ingest.testing.events import settings_of

LIMIT = 200_000
EVENT_BYTES = 500  # as counted


@pytest.fixture(autouse=True)
def _low(monkeypatch):
    monkeypatch.setattr("ingest.api.growth.MAX_GROWN_BYTES", LIMIT)
    monkeypatch.setattr(growth_of, "LARGE_EVENT_BYTES", 1_000)
    monkeypatch.setattr(chain_module, "LARGE_EVENT_BYTES", 1_000)
    monkeypatch.setattr(growth_of, "_LARGE_RECORD_BYTES", 10_000)
    monkeypatch.setattr(growth_of, "_STEP_ENTRIES", 100)


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


@WATCHERS
@pytest.mark.parametrize("inflated", [False, True])
def test_a_small_event_is_not_measured_whatever_its_templates_make_of_it(watcher, inflated):
    """Also if it was decompressed; what an operator writes into a template is no fault of the event."""
    compressor = zlib.compressobj(wbits=31)
    body = (900).to_bytes(4, "big") + b"x" * 900 + bytes(8) + (3).to_bytes(4, "big") + bytes(14)
    packed = {"compressGzip": compressor.compress(body) + compressor.flush()} if inflated else {}
    first = [("gunzip", "{}")] if inflated else []
    doubles = [("format", "{template: '%{body}%{body}'}")] * 8
    (outcome,) = chain_of(*first, *doubles, watcher=watcher).run(Event(b"x" * 900, packed))
    assert len(outcome.body) == 900 << 8 > LIMIT


class TestGrowth:
    """To the byte: what events hold, and from which size on they are measured."""

    def test_names_and_values_of_an_event_take_memory_unless_they_are_of_its_parent(self):
        name, value, own_name, own_value = "n" * 1_000, b"v" * 2_000, "o" * 100, b"w" * 200
        parent = Event(b"b" * 3_000, {name: value})
        of_a_parent = EVENT_BYTES + 2 * 40  # each attribute takes 40 bytes
        of_its_own = 40 + len(own_name) + 40 + len(own_value) + len(b"other")
        first, events = Event(b""), [parent.copy() for _ in range(3)]
        growth = Growth(EVENT_BYTES + 3 * (of_a_parent + of_its_own))
        growth.measure(first)  # and from now on all others
        growth.made(parent, events)
        for event in events:
            event.body = b"other"
            event.attributes[own_name] = own_value
            growth.measure(event)
        first.body = b"x"
        with pytest.raises(DecorateError):
            growth.measure(first)

    @pytest.mark.parametrize("part", ["body", "attribute"])
    def test_events_may_hold_all_bytes_of_the_limit(self, part):
        def event(size):
            return Event(b"x" * size) if part == "body" else Event(b"", {"n": b"x" * (size - 121)})

        growth = Growth(EVENT_BYTES + 1_000)
        growth.measure(event(1_000))
        growth = Growth(EVENT_BYTES + 1_000)
        with pytest.raises(DecorateError):
            growth.measure(event(1_001))

    def test_an_event_that_fails_leaves_its_memory_to_the_others(self):
        growth = Growth(2 * EVENT_BYTES + 1_000)
        first, second = Event(b"x" * 500), Event(b"x" * 500)
        growth.measure(first)
        growth.measure(second)
        first.body = b"x" * 501
        with pytest.raises(DecorateError):
            growth.measure(first)
        assert (first.body, first.attributes) == (b"", {})
        second.body = b"x" * (EVENT_BYTES + 1_000)
        growth.measure(second)
        with pytest.raises(DecorateError):
            growth.measure(first)  # as if it had never been measured, so nothing is left for it

    @pytest.mark.parametrize(("more", "is_measured"), [(0, False), (1, True)])
    def test_an_inflated_event_is_measured_above_the_size_of_large_ones(self, more, is_measured):
        growth = Growth(LIMIT)
        growth.changed(Event(b"x" * (1_000 + more)), is_inflated=True)
        assert growth.is_measured is is_measured

    @pytest.mark.parametrize("part", ["body", "key", "name", "value"])
    def test_size_of_an_event_is_that_of_all_its_parts(self, part):
        large = 1_001
        events = {
            "body": Event(b"x" * large),
            "key": Event(b"", key=b"x" * large),
            "name": Event(b"", {"x" * large: b""}),
            "value": Event(b"", {"": b"x" * large}),
        }
        assert growth_of.size_of(events[part]) == large

    @pytest.mark.parametrize(("events", "is_measured"), [(16, False), (17, True)])
    def test_few_events_of_a_fan_out_are_not_measured(self, events, is_measured):
        parent = Event(b"x" * 900)
        growth = Growth(LIMIT)
        growth.made(parent, [parent.copy() for _ in range(events)])
        assert growth.is_measured is is_measured

    @pytest.mark.parametrize(("size", "is_measured"), [(500, False), (501, True)])
    def test_many_events_are_measured_above_the_size_of_large_records(self, size, is_measured):
        parent = Event(b"x" * size)
        growth = Growth(LIMIT)
        growth.made(parent, [parent.copy() for _ in range(20)])
        assert growth.is_measured is is_measured

    @pytest.mark.parametrize(("events", "fits"), [(20, True), (21, False)])
    def test_many_small_events_may_hold_all_bytes_of_the_limit(self, events, fits):
        parent = Event(b"", {"a": b""})
        growth = Growth(20 * (EVENT_BYTES + 40))
        made = [parent.copy() for _ in range(events)]
        if fits:
            growth.made(parent, made)
        else:
            with pytest.raises(DecorateError):
                growth.made(parent, made)

    @pytest.mark.parametrize("before", [0, 20])
    def test_events_of_a_fan_out_are_counted_while_they_are_made(self, monkeypatch, before):
        """With the ones that were made before; the last ones of a step may be too many."""
        monkeypatch.setattr(growth_of, "_STEP_ENTRIES", 9)  # ten events a step
        parent = Event(b"")
        growth = Growth((20 + before) * EVENT_BYTES)
        growth.made(parent, [parent.copy() for _ in range(before)])
        assert len(growth.counted(parent)(parent.copy() for _ in range(20))) == 20
        made = []
        with pytest.raises(DecorateError):
            growth.counted(parent)(made.append(number) or parent.copy() for number in range(100))
        assert len(made) == 30

    def test_names_of_a_parent_are_kept_as_long_as_their_ids(self):
        """Else another object might have the id, and would take no memory."""

        class Name(str):
            __slots__ = ("__weakref__",)

        name = Name("n")
        parent = Event(b"", {name: b""})
        growth = Growth(LIMIT)
        growth.measure(parent)
        growth.made(parent, [])
        kept = weakref.ref(name)
        del name, parent
        gc.collect()
        assert kept() is not None
        del growth
        gc.collect()
        assert kept() is None

    def test_error_names_the_limit(self):
        with pytest.raises(DecorateError, match="this record would take more than 3 MiB of memory") as caught:
            Growth(3 << 20).measure(Event(bytes(4 << 20)))
        assert caught.value.code == "too_large"
