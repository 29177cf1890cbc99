"""The decorators that store the values of a split: dedupe and first_n."""

from collections import Counter
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.dedupe import Dedupe
from decorators.first_n import FirstN
from decorators.template import Value
from ingest.api import Decoding, OnError, Record, StoreUnavailableError
from ingest.decorating.digests import short
from ingest.plan.assemble import live_task
from ingest.plan.plan import Plan
from ingest.receipt import TaskStatus
from ingest.testing.events import event_of, settings_of
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemorySettings
from tests.support.parts import planned
from tests.support.without_spark import staging_spec

BODIES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"x" * 32, b"x" * 33, b"y" * 33, b"x" * 100]))


def made(kind, text):
    return kind(settings_of(kind.settings_class(), text))


def passed(decorator, bodies):
    """Indexes of the events of a split that pass."""
    decorator.split_start()
    return [number for number, body in enumerate(bodies) if decorator.decorate(event_of(body))]


class TestDedupe:
    @given(BODIES)
    def test_the_first_of_each_value_passes(self, bodies):
        expected = [number for number, body in enumerate(bodies) if body not in bodies[:number]]
        assert passed(made(Dedupe, "{}"), bodies) == expected

    @given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 4))
    def test_most_recent_half_of_the_values_is_stored(self, numbers, half):
        decorator = made(Dedupe, f"{{max_values: {2 * half}}}")
        found = set(passed(decorator, [b"%d" % number for number in numbers]))
        for place, number in enumerate(numbers):
            if number not in numbers[:place]:
                assert place in found
                continue
            last = max(before for before in range(place) if numbers[before] == number)
            if len(set(numbers[last + 1 : place])) < half:
                assert place not in found
        known = [number for number in set(numbers) if not deepcopy(decorator).decorate(event_of(b"%d" % number))]
        assert len(known) <= 2 * half

    def test_repeated_value_becomes_the_most_recent(self):
        assert passed(made(Dedupe, "{max_values: 4}"), [b"a", b"b", b"c", b"d", b"a", b"e", b"a"]) == [0, 1, 2, 3, 5]
        assert passed(made(Dedupe, "{max_values: 4}"), [b"a", b"b", b"c", b"a", b"d", b"a"]) == [0, 1, 2, 4]

    def test_digest_of_a_long_value_differs_from_every_value(self):
        long = b"x" * 33
        assert short(long) != long
        assert passed(made(Dedupe, "{}"), [long, short(long)]) == [0, 1]

    def test_value_may_use_any_part_of_the_event(self):
        decorator = made(Dedupe, "{by: '%{id}-%{host}'}")
        events = [event_of("x", {"id": "1"}, host=host) for host in ("a", "b", "a")]
        assert [decorator.decorate(event) for event in events] == [True, True, False]

    def test_events_without_the_value_pass(self):
        decorator = made(Dedupe, "{by: '%{id}'}")
        assert [decorator.decorate(event_of("x")) for _ in range(3)] == [True] * 3

    def test_on_missing_drop(self):
        decorator = made(Dedupe, "{by: '%{id}', on_missing: drop}")
        assert [decorator.decorate(event_of("x", attributes)) for attributes in ({}, {"id": ""})] == [False, True]

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ("{max_values: 1}", [("greater_than_equal", ("max_values",))]),
            ("{max_values: 10000001}", [("less_than_equal", ("max_values",))]),
            ("{by: '%{'}", [("bad_expression", ("by",))]),
        ],
    )
    def test_invalid_options_are_rejected(self, errors_of, settings, expected):
        assert errors_of(Dedupe, settings) == expected


class TestFirstN:
    @given(BODIES, st.integers(1, 4))
    def test_max_events_of_each_value_pass(self, bodies, n):
        expected = [number for number, body in enumerate(bodies) if bodies[:number].count(body) < n]
        assert passed(made(FirstN, f"{{max_events: {n}, by: '%{{body}}'}}"), bodies) == expected

    @given(BODIES, st.integers(1, 4))
    def test_without_by_the_whole_split_is_counted(self, bodies, n):
        assert passed(made(FirstN, f"{{max_events: {n}}}"), bodies) == list(range(len(bodies)))[:n]

    def test_events_of_values_beyond_max_values_pass(self):
        decorator = made(FirstN, "{max_events: 1, by: '%{body}', max_values: 2}")
        assert passed(decorator, [b"a", b"b", b"c", b"c", b"a", b"b"]) == [0, 1, 2, 3]

    def test_events_without_the_value_pass_and_are_not_counted(self):
        decorator = made(FirstN, "{max_events: 1, by: '%{id}'}")
        events = [event_of("x"), event_of("x"), event_of("x", {"id": ""}), event_of("x", {"id": ""})]
        assert [decorator.decorate(event) for event in events] == [True, True, True, False]

    def test_on_missing_drop(self):
        decorator = made(FirstN, "{max_events: 1, by: '%{id}', on_missing: drop}")
        assert [decorator.decorate(event_of("x", attributes)) for attributes in ({}, {"id": ""})] == [False, True]

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ("{}", [("missing", ("max_events",))]),
            ("{max_events: 0}", [("greater_than_equal", ("max_events",))]),
            ("{max_events: 1, max_values: 0}", [("greater_than_equal", ("max_values",))]),
        ],
    )
    def test_invalid_options_are_rejected(self, errors_of, settings, expected):
        assert errors_of(FirstN, settings) == expected


@pytest.mark.parametrize(
    ("kind", "text"), [(Dedupe, "{}"), (FirstN, "{max_events: 1, by: '%{body}'}")], ids=["dedupe", "first_n"]
)
class TestSplits:
    @given(bodies=BODIES, failed=BODIES)
    def test_each_split_starts_empty(self, kind, text, bodies, failed):
        decorator = made(kind, text)
        passed(decorator, failed)
        assert passed(decorator, bodies) == passed(made(kind, text), bodies)

    def test_failed_attempt_of_a_batch_loses_no_event(self, kind, text, tmp_path):
        """The first attempt fails after all its events passed the decorator; the next one runs in the same process."""
        records = [Record("t", 0, number, b"k%d" % number, b"%d" % (number % 10), 1_000) for number in range(20)]
        task = live_task(plan(kind, text))

        def torn():
            yield from records
            raise StoreUnavailableError("gone")

        assert task.run(torn(), staging_spec(tmp_path, attempt="1-0")).status is TaskStatus.BLOCKED
        receipt = task.run(records, staging_spec(tmp_path, attempt="1-1"))
        assert (receipt.status, receipt.counts.read, receipt.counts.stored) == (TaskStatus.DURABLE, 20, 10)
        assert receipt.counts.dropped == Counter({kind.kind: 10})

    def test_partitions_are_independent(self, kind, text, tmp_path):
        records = [Record("t", partition, 0, b"k%d" % partition, b"same", 1_000) for partition in range(3)]
        spec = staging_spec(tmp_path)
        assert live_task(plan(kind, text)).run(records, spec).counts.stored == 3

    def test_records_of_different_batches_are_independent(self, kind, text, tmp_path):
        """Dead letters that are replayed together: an event that passed before is not a duplicate of another one."""
        records = [Record("t", 0, number, b"k%d" % number, b"same", 1_000) for number in range(3)]
        spec = replace(staging_spec(tmp_path), split_per_record=True)
        assert live_task(plan(kind, text)).run(records, spec).counts.stored == 3


def plan(kind, text):
    decorator = planned(
        kind.kind, f"{kind.__module__}:{kind.__name__}", settings_of(kind.settings_class(), text), OnError.STOP
    )
    value = {"attribute": "2hb_", "value": "%{key}"}, {"attribute": "2hb_f:b", "value": "%{body}"}
    sink = Attr2HBase.settings_class().model_validate({"store": "logs", "table": "t"})
    return Plan(
        pipeline="p",
        fingerprint="f",
        timezone="UTC",
        on_error=OnError.STOP,
        decoding=Decoding(),
        decorators=(decorator, *(values(**options) for options in value)),
        sinks=(planned("attr2hbase", "sinks.mapping.attr2hbase:Attr2HBase", sink, OnError.STOP),),
        stores={"logs": planned("logs", "sinks.memory:MemoryStore", MemorySettings())},
    )


def values(**options):
    settings = Value.settings_class().model_validate(options)
    return planned("value", "decorators.template:Value", settings, OnError.STOP)
