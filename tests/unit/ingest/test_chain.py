"""The chain: outcomes, conditions, errors, fan-outs and their numbers, watching."""

import asyncio
import traceback
from dataclasses import replace

import pytest

from ingest.api import (
    DecorateBugError,
    DecorateError,
    Decorator,
    Event,
    FanOut,
    Held,
    OnError,
    Origin,
    Settings,
    StoreUnavailableError,
)
from ingest.api.event import MAX_EVENTS_OF_A_RECORD as MOST
from ingest.chain import BeginFailedError, Chain, Dropped, Failed, Step, Waiting, _given
from ingest.plugin import OutOfMemoryError


class Append(Decorator[Settings]):
    """Appends a letter to the body."""

    kind = "append"

    def __init__(self, letter):
        super().__init__(Settings())
        self._letter = letter

    def decorate(self, event):
        event.body += self._letter
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


class Forgetful(Decorator[Settings]):
    kind = "forgetful"

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
                raise DecorateError("half way")
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
    steps = [
        Step(each, f"{each.kind}-{index}", condition if index == 0 else None) for index, each in enumerate(decorators)
    ]
    return Chain(steps, watcher=watcher)


def event(body=b"a"):
    return Event(body, origin=Origin("t", 1, 2))


def watch(*_):
    pass


@pytest.fixture(params=[None, watch], ids=["plain", "watched"])
def watcher(request):
    """Both ways through the chain give the same."""
    return request.param


class TestOutcomes:
    def test_an_empty_chain_keeps_the_event(self, watcher):
        one = event()
        assert list(chain(watcher=watcher).run(one)) == [one]

    def test_steps_apply_in_order(self, watcher):
        one = event()
        (outcome,) = chain(Append(b"b"), Append(b"c"), watcher=watcher).run(one)
        assert outcome == replace(one, body=b"abc")

    def test_a_dropped_event_names_reason_and_step(self, watcher):
        (outcome,) = chain(Append(b"b"), Drop(), Append(b"c"), watcher=watcher).run(event())
        assert outcome == Dropped("unwanted", "drop-1", replace(event(), body=b"ab"))

    def test_reason_is_the_kind_by_default(self):
        assert Append(b"x").drop_reason == "append"

    def test_a_refused_event_keeps_its_error(self, watcher):
        (outcome,) = chain(Append(b"b"), Refuse(), watcher=watcher).run(event())
        assert isinstance(outcome, Failed)
        expected = (Origin("t", 1, 2), "refused", "refuse-1", OnError.DEAD_LETTER, b"ab")
        found = (outcome.origin, outcome.error.code, outcome.component, outcome.on_error, outcome.event.body)
        assert found == expected

    def test_on_error_is_that_of_the_step(self, watcher):
        (outcome,) = Chain([Step(Refuse(), "r", on_error=OnError.STOP)], watcher=watcher).run(event())
        assert outcome.on_error is OnError.STOP

    def test_a_bug_keeps_its_traceback(self, watcher):
        (outcome,) = chain(Buggy(), watcher=watcher).run(event())
        assert isinstance(outcome.error, DecorateBugError)
        assert (outcome.error.code, outcome.error.message) == (
            "decorator_bug",
            f"KeyError: 'missing' ({__name__}:{LINE_OF_BUG})",
        )
        assert 'event.attributes["missing"]' in "".join(traceback.format_exception(outcome.error))

    def test_no_answer_is_a_bug_and_not_a_drop(self, watcher):
        (outcome,) = chain(Forgetful(), watcher=watcher).run(event())
        assert isinstance(outcome.error, DecorateBugError)
        assert "decorate returned None" in outcome.error.message


class TestConditions:
    def test_a_step_applies_where_its_condition_holds(self, watcher):
        (outcome,) = chain(Append(b"b"), condition=BodyIs(b"a"), watcher=watcher).run(event())
        assert outcome.body == b"ab"

    def test_a_step_is_passed_over_elsewhere(self, watcher):
        (outcome,) = chain(Drop(), Append(b"c"), condition=BodyIs(b"z"), watcher=watcher).run(event())
        assert outcome.body == b"ac"

    def test_a_condition_that_raises_fails_the_event(self, watcher):
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
        assert found == [(b"a", MOST), (b"b", MOST + 1), (b"c", 2 * MOST), (b"d", 3 * MOST), (b"e", 3 * MOST + 1)]

    def test_an_event_that_failed_between_shares_no_origin(self):
        refuse = Step(Refuse(), "refuse", BodyIs(b"?"))
        outcomes = Chain([Step(Split(b";"), "1"), refuse, Step(Split(b","), "2")]).run(event(b"a,b;?;c"))
        origins = [each.origin for each in outcomes]
        assert [type(each) for each in outcomes] == [Failed, Event, Event, Event]
        assert len(set(origins)) == len(origins)

    def test_what_becomes_of_others_changes_no_origin(self):
        refuse = Step(Refuse(), "refuse", BodyIs(b"?"))
        steps = [Step(Split(b";"), "1"), refuse, Step(Split(b","), "2")]
        first, again = (Chain(steps).run(event(body)) for body in (b"?;b,c", b"a;b,c"))
        assert [each.origin for each in first[1:]] == [each.origin for each in again[1:]]

    def test_more_than_fit_in_memory_are_refused(self):
        one = chain(Split(b";"), Split(b","))
        (outcome,) = [each for each in one.run(event(b"a;" + b"b," * (MOST - 1) + b"c")) if isinstance(each, Failed)]
        assert outcome.error.code == "too_many_parts"

    def test_numbers_fit_into_eight_bytes(self):
        outcomes = chain(*(Split(separator) for separator in (b";", b",", b":"))).run(event(b"a;" * (MOST - 2) + b"a"))
        assert max(each.origin.fan_out for each in outcomes) < 1 << 63
        (outcome,) = chain(*(Split(separator) for separator in (b"5", b"4", b"3", b"2", b"1"))).run(event(b"a"))
        assert (outcome.error.code, outcome.component) == ("too_many_parts", "pieces-4")

    def test_none_made_is_dropped(self):
        assert chain(Split()).run(event(b"")) == [Dropped("pieces", "pieces-0", event(b""))]

    def test_an_error_half_way_fails_the_whole(self):
        (outcome,) = chain(Split()).run(event(b"a,!"))
        assert (outcome.error.message, outcome.event.body) == ("half way", b"a,!")

    def test_the_same_event_twice_is_a_bug(self):
        (outcome,) = chain(Twice()).run(event())
        assert outcome.error.code == "decorator_bug"

    def test_a_condition_passes_a_fan_out_over(self):
        one = event(b"a,b")
        assert chain(Split(), condition=BodyIs(b"z")).run(one) == [one]


class TestWatching:
    def test_every_step_that_ran_is_seen_with_before_and_after(self):
        seen = []
        steps = chain(
            Append(b"b"),
            Split(b"b"),
            Append(b"c"),
            watcher=lambda step, before, after: seen.append((step.name, before.body, [each.body for each in after])),
        )
        steps.run(event(b"ab1"))
        assert seen == [
            ("append-0", b"ab1", [b"ab1b"]),
            ("pieces-1", b"ab1b", [b"a", b"1"]),
            ("append-2", b"a", [b"ac"]),
            ("append-2", b"1", [b"1c"]),
        ]

    def test_passed_over_and_failed_steps_are_not_seen(self):
        seen = []
        steps = chain(Drop(), Refuse(), condition=BodyIs(b"z"), watcher=lambda step, *_: seen.append(step.name))
        steps.run(event())
        assert seen == []


class Last(FanOut[Settings]):
    """Holds the last few events of a share; gives nothing of those that say so at the end."""

    kind = "last"

    def __init__(self, count, finish=None):
        super().__init__(Settings())
        self._count = count
        self._finish = finish
        self.held = []

    def begin(self):
        self.held = []

    def decorate(self, event):
        self.held.append(event)
        return Held(self.held.pop(0) if len(self.held) > self._count else None)

    def finish(self):
        if self._finish is not None:
            return self._finish(self.held)
        return [event for event in self.held if event.body != b"forget"]


class CanNotBegin(Append):
    def __init__(self, error):
        super().__init__(b"x")
        self._error = error

    def begin(self):
        raise self._error


def numbered(*bodies):
    return [Event(body, origin=Origin("t", 1, offset)) for offset, body in enumerate(bodies)]


def share(one, events):
    """Bodies, or reasons and codes with them, in the order in which they come out; each event once."""
    one.begin()
    outcomes = [outcome for event in events for outcome in one.run(event)]
    for _, late in one.finish():
        outcomes += late
    return [told(outcome) for outcome in outcomes if not isinstance(outcome, Waiting)]


def told(outcome):
    match outcome:
        case Event():
            return outcome.body
        case Dropped(reason, _, event):
            return (reason, event.body)
        case Failed():
            return (outcome.error.code, outcome.event.body)


class TestShares:
    def test_every_step_is_told_where_a_share_begins(self):
        begun = []

        class Told(Append):
            def begin(self):
                begun.append(self._letter)

        one = chain(Told(b"a"), Told(b"b"))
        one.begin()
        one.begin()
        assert (begun, one.has_shares) == ([b"a", b"b"] * 2, True)

    def test_steps_that_ask_for_no_share_are_known(self):
        assert not chain(Append(b"a"), Split()).has_shares
        assert chain(Append(b"a"), Last(1)).has_shares

    def test_an_error_of_the_environment_keeps_its_kind_and_gets_the_name_of_the_step(self):
        error = StoreUnavailableError("no answer", hint="wait")
        with pytest.raises(StoreUnavailableError, match=r'^"append-1": no answer; wait$'):
            chain(Append(b"a"), CanNotBegin(error)).begin()

    @pytest.mark.parametrize(
        ("error", "told"), [(KeyError("x"), "KeyError: 'x'"), (asyncio.CancelledError(), "CancelledError")]
    )
    def test_a_bug_before_the_first_event_stops(self, error, told):
        with pytest.raises(BeginFailedError, match=rf'^"append-0": {told} \(tests.unit.ingest.test_chain:\d+\)$'):
            chain(CanNotBegin(error)).begin()

    def test_want_of_memory_before_the_first_event_names_the_step(self):
        with pytest.raises(OutOfMemoryError, match=r'^"append-0" got no memory: MemoryError '):
            chain(CanNotBegin(MemoryError())).begin()


def cancelled(held):
    raise asyncio.CancelledError


class TestHolding:
    def test_held_events_come_at_the_end_and_others_are_dropped(self, watcher):
        one = chain(Append(b"!"), Last(2), Append(b"?"), watcher=watcher)
        found = share(one, numbered(b"a", b"b", b"c", b"d"))
        assert found == [("last", b"a!"), ("last", b"b!"), b"c!?", b"d!?"]

    def test_what_becomes_of_a_held_event_is_told_with_it(self):
        one = chain(Last(2), Refuse())
        events = numbered(b"a", b"b")
        one.begin()
        assert [list(one.run(each)) for each in events] == [[Waiting(each)] for each in events]
        found = [(event, [told(each) for each in outcomes]) for event, outcomes in one.finish()]
        assert found == [(each, [("refused", each.body)]) for each in events]

    def test_what_is_not_given_at_the_end_is_dropped(self):
        assert share(chain(Last(2)), numbered(b"forget", b"b")) == [b"b", ("last", b"forget")]

    def test_one_step_may_hold_what_another_has_held(self):
        found = share(chain(Last(3), Append(b"!"), Last(2)), numbered(b"a", b"b", b"c", b"d"))
        assert found == [("last", b"a"), ("last", b"b!"), b"c!", b"d!"]

    def test_a_share_that_was_given_up_leaves_nothing_behind(self):
        one = chain(Last(2))
        one.begin()
        one.run(event(b"lost"))
        assert share(one, numbered(b"a")) == [b"a"]

    def test_a_held_event_keeps_its_origin(self):
        one = chain(Split(b";"), Last(3))
        one.begin()
        one.run(event(b"a;b"))
        assert [given.origin.fan_out for given, _ in one.finish()] == [0, 1]

    def test_origins_are_unique_when_held_events_are_split(self):
        one = chain(Split(b";"), Last(9), Split(b","))
        one.begin()
        one.run(event(b"a,b;c,d"))
        one.run(Event(b"e,f", origin=Origin("t", 1, 3)))
        origins = [(each.body, each.origin) for _, outcomes in one.finish() for each in outcomes]
        assert len({origin for _, origin in origins}) == 6
        assert [body for body, origin in origins if origin.offset == 3] == [b"e", b"f"]

    @pytest.mark.parametrize(
        "finish",
        [lambda held: [*held, *held], lambda _held: [event(b"made")], lambda held: 1 / 0, cancelled],
        ids=["twice", "never held", "raises", "is cancelled"],
    )
    def test_a_bug_at_the_end_fails_what_is_held(self, finish):
        found = share(chain(Last(2, finish)), numbered(b"a", b"b", b"c"))
        assert found == [("last", b"a"), ("decorator_bug", b"b"), ("decorator_bug", b"c")]

    def test_want_of_memory_at_the_end_names_the_step(self):
        def finish(_held):
            raise MemoryError

        with pytest.raises(OutOfMemoryError, match=r'^"last-0" got no memory: MemoryError '):
            share(chain(Last(2, finish)), [])

    def test_dropping_what_is_not_held_is_a_bug(self):
        class Wrong(Last):
            def decorate(self, event):
                return Held(Event(b"who"))

        assert share(chain(Wrong(1)), numbered(b"a")) == [("decorator_bug", b"a")]

    def test_giving_an_event_that_is_held_is_a_bug(self):
        class Early(Last):
            def decorate(self, event):
                self.held.append(event)
                return Held() if len(self.held) == 1 else list(self.held)

        assert share(chain(Early(1)), numbered(b"a", b"b")) == [("decorator_bug", b"b"), ("decorator_bug", b"a")]

    def test_what_a_plugin_leaves_of_a_held_event_is_looked_at(self):
        def finish(held):
            held[0].attributes["x"] = "text"
            return held

        one = Chain([Step(Last(2, finish), "mine", provider="mine 1.0")])
        assert share(one, numbered(b"a", b"b")) == [("decorator_bug", b""), b"b"]

    def test_the_end_of_a_share_is_guarded(self):
        assert _given in chain(Last(1)).guarded

    def test_an_error_of_the_environment_at_the_end_is_loud(self):
        def finish(_held):
            raise StoreUnavailableError("no answer")

        with pytest.raises(StoreUnavailableError, match=r'^"last-0": no answer$'):
            share(chain(Last(2, finish)), numbered(b"a"))
