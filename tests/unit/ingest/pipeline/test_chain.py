"""The chain: outcomes, conditions, errors, fan-outs and their numbers, watchers."""

import asyncio
import traceback
from dataclasses import replace

import pytest

from ingest.api import (
    Buffered,
    DecorateBugError,
    DecorateError,
    Decorator,
    Event,
    FanOut,
    OnError,
    Origin,
    Settings,
    StoreUnavailableError,
)
from ingest.api.event import MAX_EVENTS_OF_A_RECORD as MAX_EVENTS
from ingest.pipeline.chain import Chain, SplitStartFailedError
from ingest.pipeline.outcomes import BoundDecorator, Dropped, Failed, StillBuffered, failed
from ingest.pipeline.time_limit import TimeLimit
from ingest.plugins.guard import OutOfMemoryError


class Append(Decorator[Settings]):
    """Appends a suffix to the body."""

    kind = "append"

    def __init__(self, suffix):
        super().__init__(Settings())
        self._suffix = suffix

    def decorate(self, event):
        event.body += self._suffix
        return True


class Drop(Decorator[Settings]):
    kind = "drop"
    drop_reason = "unwanted"

    def __init__(self):
        super().__init__(Settings())

    def decorate(self, event):
        return False


class Refuse(Decorator[Settings]):
    kind = "refuse"

    def __init__(self):
        super().__init__(Settings())

    def decorate(self, event):
        raise DecorateError("no", code="refused")


class Buggy(Decorator[Settings]):
    kind = "buggy"

    def __init__(self):
        super().__init__(Settings())

    def decorate(self, event):
        return event.attributes["missing"]


LINE_OF_BUG = Buggy.decorate.__code__.co_firstlineno + 1


class ReturnsNone(Decorator[Settings]):
    kind = "returns_none"

    def __init__(self):
        super().__init__(Settings())

    def decorate(self, event):
        return None


class Split(FanOut[Settings]):
    """One event for each piece of the body."""

    kind = "pieces"

    def __init__(self, separator=b","):
        super().__init__(Settings())
        self._separator = separator

    def decorate(self, event):
        for piece in event.body.split(self._separator):
            if piece == b"!":
                raise DecorateError("invalid piece")
            if piece:
                yield replace(event, body=piece, attributes=dict(event.attributes))


class Twice(FanOut[Settings]):
    kind = "twice"

    def __init__(self):
        super().__init__(Settings())

    def decorate(self, event):
        return [event, event]


class BodyIs:
    def __init__(self, body):
        self._body = body

    def holds(self, event):
        return event.body == self._body


class Broken:
    def holds(self, event):
        raise ZeroDivisionError


def chain(*decorators, condition=None, watcher=None):
    bound = [
        BoundDecorator(each, f"{each.kind}-{index}", condition if index == 0 else None)
        for index, each in enumerate(decorators)
    ]
    return Chain(bound, watcher=watcher)


def event(body=b"a"):
    return Event(body, origin=Origin("t", 1, 2))


def watch(*_):
    pass


@pytest.fixture(params=[None, watch], ids=["plain", "watched"])
def watcher(request):
    """Both paths through the chain give the same outcomes."""
    return request.param


class TestOutcomes:
    def test_empty_chain_keeps_the_event(self, watcher):
        one = event()
        assert list(chain(watcher=watcher).run(one)) == [one]

    def test_decorators_apply_in_order(self, watcher):
        one = event()
        (outcome,) = chain(Append(b"b"), Append(b"c"), watcher=watcher).run(one)
        assert outcome == replace(one, body=b"abc")

    def test_dropped_event_has_reason_and_decorator(self, watcher):
        (outcome,) = chain(Append(b"b"), Drop(), Append(b"c"), watcher=watcher).run(event())
        assert outcome == Dropped("unwanted", "drop-1", replace(event(), body=b"ab"))

    def test_default_reason_is_the_kind(self):
        assert Append(b"x").drop_reason == "append"

    def test_failed_event_has_the_error_of_the_decorator(self, watcher):
        (outcome,) = chain(Append(b"b"), Refuse(), watcher=watcher).run(event())
        assert isinstance(outcome, Failed)
        expected = (Origin("t", 1, 2), "refused", "refuse-1", OnError.DEAD_LETTER, b"ab")
        found = (outcome.origin, outcome.error.code, outcome.component, outcome.on_error, outcome.event.body)
        assert found == expected
        assert outcome.error.__traceback__ is None  # its frames would keep the event

    def test_error_before_the_first_decorator_is_no_failure_of_the_event(self):
        """As an interrupt, which may come between any two lines."""
        one = event()
        with pytest.raises(KeyboardInterrupt):
            failed(KeyboardInterrupt(), None, one, one.origin)

    def test_on_error_is_that_of_the_decorator(self, watcher):
        (outcome,) = Chain([BoundDecorator(Refuse(), "r", on_error=OnError.STOP)], watcher=watcher).run(event())
        assert outcome.on_error is OnError.STOP

    def test_bug_has_its_traceback(self, watcher):
        (outcome,) = chain(Buggy(), watcher=watcher).run(event())
        assert isinstance(outcome.error, DecorateBugError)
        assert (outcome.error.code, outcome.error.message) == (
            "decorator_bug",
            f"KeyError: 'missing' ({__name__}:{LINE_OF_BUG})",
        )
        assert 'event.attributes["missing"]' in "".join(traceback.format_exception(outcome.error))

    def test_missing_result_is_a_bug(self, watcher):
        (outcome,) = chain(ReturnsNone(), watcher=watcher).run(event())
        assert isinstance(outcome.error, DecorateBugError)
        assert "decorate returned None" in outcome.error.message


class TestConditions:
    def test_decorator_applies_if_its_condition_holds(self, watcher):
        (outcome,) = chain(Append(b"b"), condition=BodyIs(b"a"), watcher=watcher).run(event())
        assert outcome.body == b"ab"

    def test_event_bypasses_a_decorator_whose_condition_does_not_hold(self, watcher):
        (outcome,) = chain(Drop(), Append(b"c"), condition=BodyIs(b"z"), watcher=watcher).run(event())
        assert outcome.body == b"ac"

    def test_condition_that_raises_fails_the_event(self, watcher):
        (outcome,) = chain(Append(b"b"), condition=Broken(), watcher=watcher).run(event())
        assert (outcome.error.code, outcome.component) == ("decorator_bug", "append-0")


class TestFanOut:
    def test_events_are_numbered(self):
        outcomes = chain(Split(), Append(b"!")).run(event(b"a,b,c"))
        found = [(each.body, each.origin) for each in outcomes]
        assert found == [(b"a!", Origin("t", 1, 2, 0)), (b"b!", Origin("t", 1, 2, 1)), (b"c!", Origin("t", 1, 2, 2))]

    def test_origins_are_unique_over_two_fan_outs(self):
        outcomes = chain(Split(b";"), Split(b",")).run(event(b"a,b;c;d,e"))
        found = [(each.body, each.origin.fan_out) for each in outcomes]
        assert found == [
            (b"a", MAX_EVENTS),
            (b"b", MAX_EVENTS + 1),
            (b"c", 2 * MAX_EVENTS),
            (b"d", 3 * MAX_EVENTS),
            (b"e", 3 * MAX_EVENTS + 1),
        ]

    def test_origins_are_unique_after_an_event_failed_between_fan_outs(self):
        refuse = BoundDecorator(Refuse(), "refuse", BodyIs(b"?"))
        outcomes = Chain([BoundDecorator(Split(b";"), "1"), refuse, BoundDecorator(Split(b","), "2")]).run(
            event(b"a,b;?;c")
        )
        origins = [each.origin for each in outcomes]
        assert [type(each) for each in outcomes] == [Failed, Event, Event, Event]
        assert len(set(origins)) == len(origins)

    def test_outcomes_of_other_events_change_no_origin(self):
        refuse = BoundDecorator(Refuse(), "refuse", BodyIs(b"?"))
        decorators = [BoundDecorator(Split(b";"), "1"), refuse, BoundDecorator(Split(b","), "2")]
        first, again = (Chain(decorators).run(event(body)) for body in (b"?;b,c", b"a;b,c"))
        assert [each.origin for each in first[1:]] == [each.origin for each in again[1:]]

    def test_fan_out_above_the_maximum_fails(self):
        one = chain(Split(b";"), Split(b","))
        (outcome,) = [
            each for each in one.run(event(b"a;" + b"b," * (MAX_EVENTS - 1) + b"c")) if isinstance(each, Failed)
        ]
        assert outcome.error.code == "too_many_parts"

    def test_numbers_fit_into_eight_bytes(self):
        outcomes = chain(*(Split(separator) for separator in (b";", b",", b":"))).run(
            event(b"a;" * (MAX_EVENTS - 2) + b"a")
        )
        assert max(each.origin.fan_out for each in outcomes) < 1 << 63
        (outcome,) = chain(*(Split(separator) for separator in (b"5", b"4", b"3", b"2", b"1"))).run(event(b"a"))
        assert (outcome.error.code, outcome.component) == ("too_many_parts", "pieces-4")

    def test_fan_out_into_no_events_drops_the_event(self):
        assert chain(Split()).run(event(b"")) == [Dropped("pieces", "pieces-0", event(b""))]

    def test_error_during_a_fan_out_fails_the_event(self):
        (outcome,) = chain(Split()).run(event(b"a,!"))
        assert (outcome.error.message, outcome.event.body) == ("invalid piece", b"a,!")

    def test_fan_out_that_returns_an_event_twice_is_a_bug(self):
        (outcome,) = chain(Twice()).run(event())
        assert outcome.error.code == "decorator_bug"

    def test_event_bypasses_a_fan_out_whose_condition_does_not_hold(self):
        one = event(b"a,b")
        assert chain(Split(), condition=BodyIs(b"z")).run(one) == [one]


class TestWatching:
    def test_watcher_gets_the_event_before_and_after_each_decorator(self):
        seen = []
        decorators = chain(
            Append(b"b"),
            Split(b"b"),
            Append(b"c"),
            watcher=lambda bound, before, after: seen.append((bound.name, before.body, [each.body for each in after])),
        )
        decorators.run(event(b"ab1"))
        assert seen == [
            ("append-0", b"ab1", [b"ab1b"]),
            ("pieces-1", b"ab1b", [b"a", b"1"]),
            ("append-2", b"a", [b"ac"]),
            ("append-2", b"1", [b"1c"]),
        ]

    def test_watcher_is_not_called_for_bypassed_and_failed_decorators(self):
        seen = []
        decorators = chain(Drop(), Refuse(), condition=BodyIs(b"z"), watcher=lambda bound, *_: seen.append(bound.name))
        decorators.run(event())
        assert seen == []


class Last(FanOut[Settings]):
    """Buffers the last few events of a split; at its end drops those with the body "forget"."""

    kind = "last"

    def __init__(self, count, at_end=None):
        super().__init__(Settings())
        self._count = count
        self._at_end = at_end
        self.buffered = []

    def split_start(self):
        self.buffered = []

    def decorate(self, event):
        self.buffered.append(event)
        return Buffered(self.buffered.pop(0) if len(self.buffered) > self._count else None)

    def split_end(self):
        if self._at_end is not None:
            return self._at_end(self.buffered)
        return [event for event in self.buffered if event.body != b"forget"]


class FailsAtSplitStart(Append):
    def __init__(self, error):
        super().__init__(b"x")
        self._error = error

    def split_start(self):
        raise self._error


def numbered(*bodies):
    return [Event(body, origin=Origin("t", 1, offset)) for offset, body in enumerate(bodies)]


def outcomes_of_split(one, events):
    """The outcome of each event, in order: its body, or a reason or error code with the body."""
    one.split_start()
    outcomes = [outcome for event in events for outcome in one.run(event)]
    for _, late in one.split_end():
        outcomes += late
    return [summary(outcome) for outcome in outcomes if not isinstance(outcome, StillBuffered)]


def summary(outcome):
    match outcome:
        case Event():
            return outcome.body
        case Dropped(reason, _, event):
            return (reason, event.body)
        case Failed():
            return (outcome.error.code, outcome.event.body)


class TestSplits:
    def test_split_start_is_called_on_every_decorator(self):
        started = []

        class Counting(Append):
            def split_start(self):
                started.append(self._suffix)

        one = chain(Counting(b"a"), Counting(b"b"))
        one.split_start()
        one.split_start()
        assert (started, one.has_splits) == ([b"a", b"b"] * 2, True)

    def test_chain_without_a_decorator_that_needs_splits_has_none(self):
        assert not chain(Append(b"a"), Split()).has_splits
        assert chain(Append(b"a"), Last(1)).has_splits

    def test_transient_error_at_split_start_keeps_its_type_and_names_the_decorator(self):
        error = StoreUnavailableError("no answer", hint="wait")
        with pytest.raises(StoreUnavailableError, match=r'^"append-1": no answer; wait$'):
            chain(Append(b"a"), FailsAtSplitStart(error)).split_start()

    @pytest.mark.parametrize(
        ("error", "described"), [(KeyError("x"), "KeyError: 'x'"), (asyncio.CancelledError(), "CancelledError")]
    )
    def test_bug_at_split_start_stops_the_pipeline(self, error, described):
        with pytest.raises(
            SplitStartFailedError, match=rf'^"append-0": {described} \(tests.unit.ingest.pipeline.test_chain:\d+\)$'
        ):
            chain(FailsAtSplitStart(error)).split_start()

    def test_out_of_memory_at_split_start_names_the_decorator(self):
        with pytest.raises(OutOfMemoryError, match=r'^"append-0" ran out of memory: MemoryError '):
            chain(FailsAtSplitStart(MemoryError())).split_start()


def cancelled(buffered):
    raise asyncio.CancelledError


class TestBuffering:
    def test_buffered_events_continue_at_split_end_and_others_are_dropped(self, watcher):
        one = chain(Append(b"!"), Last(2), Append(b"?"), watcher=watcher)
        found = outcomes_of_split(one, numbered(b"a", b"b", b"c", b"d"))
        assert found == [("last", b"a!"), ("last", b"b!"), b"c!?", b"d!?"]

    def test_split_end_gives_outcomes_with_their_event(self):
        one = chain(Last(2), Refuse())
        events = numbered(b"a", b"b")
        one.split_start()
        assert [list(one.run(each)) for each in events] == [[StillBuffered(each)] for each in events]
        found = [(event, [summary(each) for each in outcomes]) for event, outcomes in one.split_end()]
        assert found == [(each, [("refused", each.body)]) for each in events]

    def test_buffered_events_that_split_end_does_not_return_are_dropped(self):
        assert outcomes_of_split(chain(Last(2)), numbered(b"forget", b"b")) == [b"b", ("last", b"forget")]

    def test_two_decorators_may_buffer_the_same_event(self):
        found = outcomes_of_split(chain(Last(3), Append(b"!"), Last(2)), numbered(b"a", b"b", b"c", b"d"))
        assert found == [("last", b"a"), ("last", b"b!"), b"c!", b"d!"]

    def test_abandoned_split_leaves_no_buffered_events(self):
        one = chain(Last(2))
        one.split_start()
        one.run(event(b"lost"))
        assert outcomes_of_split(one, numbered(b"a")) == [b"a"]

    def test_buffered_event_keeps_its_origin(self):
        one = chain(Split(b";"), Last(3))
        one.split_start()
        one.run(event(b"a;b"))
        assert [given.origin.fan_out for given, _ in one.split_end()] == [0, 1]

    def test_origins_are_unique_when_buffered_events_fan_out(self):
        one = chain(Split(b";"), Last(9), Split(b","))
        one.split_start()
        one.run(event(b"a,b;c,d"))
        one.run(Event(b"e,f", origin=Origin("t", 1, 3)))
        origins = [(each.body, each.origin) for _, outcomes in one.split_end() for each in outcomes]
        assert len({origin for _, origin in origins}) == 6
        assert [body for body, origin in origins if origin.offset == 3] == [b"e", b"f"]

    @pytest.mark.parametrize(
        "at_end",
        [
            lambda buffered: [*buffered, *buffered],
            lambda _buffered: [event(b"made")],
            lambda buffered: 1 / 0,
            cancelled,
        ],
        ids=["twice", "never buffered", "raises", "is cancelled"],
    )
    def test_bug_at_split_end_fails_the_buffered_events(self, at_end):
        found = outcomes_of_split(chain(Last(2, at_end)), numbered(b"a", b"b", b"c"))
        assert found == [("last", b"a"), ("decorator_bug", b"b"), ("decorator_bug", b"c")]

    def test_out_of_memory_at_split_end_names_the_decorator(self):
        def at_end(_buffered):
            raise MemoryError

        with pytest.raises(OutOfMemoryError, match=r'^"last-0" ran out of memory: MemoryError '):
            outcomes_of_split(chain(Last(2, at_end)), [])

    def test_dropping_an_event_that_is_not_buffered_is_a_bug(self):
        class Wrong(Last):
            def decorate(self, event):
                return Buffered(Event(b"who"))

        assert outcomes_of_split(chain(Wrong(1)), numbered(b"a")) == [("decorator_bug", b"a")]

    def test_returning_a_buffered_event_before_split_end_is_a_bug(self):
        class Early(Last):
            def decorate(self, event):
                self.buffered.append(event)
                return Buffered() if len(self.buffered) == 1 else list(self.buffered)

        assert outcomes_of_split(chain(Early(1)), numbered(b"a", b"b")) == [
            ("decorator_bug", b"b"),
            ("decorator_bug", b"a"),
        ]

    def test_buffered_events_of_a_plugin_are_checked_at_split_end(self):
        def at_end(buffered):
            buffered[0].attributes["x"] = "text"
            return buffered

        one = Chain([BoundDecorator(Last(2, at_end), "mine", provider="mine 1.0")])
        assert outcomes_of_split(one, numbered(b"a", b"b")) == [("decorator_bug", b""), b"b"]

    def test_split_end_that_does_not_return_fails_its_events(self):
        def hang(_buffered):
            while True:
                pass

        one = chain(Last(2, hang))
        with TimeLimit(one.guarded, tick_s=0.02, ticks=3):
            assert outcomes_of_split(one, numbered(b"a", b"b")) == [
                ("decorator_timeout", b"a"),
                ("decorator_timeout", b"b"),
            ]

    def test_transient_error_at_split_end_is_raised(self):
        def at_end(_buffered):
            raise StoreUnavailableError("no answer")

        with pytest.raises(StoreUnavailableError, match=r'^"last-0": no answer$'):
            outcomes_of_split(chain(Last(2, at_end)), numbered(b"a"))
