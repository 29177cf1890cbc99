"""What becomes of an event in the hands of a plugin that misbehaves: a dead letter that says whose fault it was."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.api import (
    CatalogError,
    Decoding,
    DecorateError,
    Decorator,
    Disposition,
    Event,
    FanOut,
    OnError,
    Origin,
    Record,
    Settings,
)
from ingest.dead_letters.envelope import DeadLetter
from ingest.pipeline.chain import BoundDecorator, Chain, Failed
from ingest.pipeline.time_limit import TimeLimit
from ingest.plan.assemble import Plan, live_chain, live_task
from ingest.plugins.guard import OutOfMemoryError
from ingest.receipt import TaskStatus
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemorySettings
from sinks.writing.messages import Prepared
from tests.support.parts import planned
from tests.support.without_spark import spec_of

ORIGIN = Origin("t", 1, 2)
PROVIDER = "louder 1.0"


class Panic(BaseException):
    pass


class Calls(Decorator[Settings]):
    """Does what it is told."""

    kind = "calls"

    def __init__(self, action):
        super().__init__(Settings())
        self._action = action

    def decorate(self, event):
        return self._action(event)


class Makes(FanOut[Settings]):
    """Makes what it is told."""

    kind = "makes"

    def __init__(self, action):
        super().__init__(Settings())
        self._action = action

    def decorate(self, event):
        return self._action(event)


def nothing_seen(*_):
    pass


@pytest.fixture(params=[None, nothing_seen], ids=["plain", "in stages"])
def failure(request):
    """Runs one step of a plugin and gives what it failed with; both ways through the chain give the same."""

    def run(decorator: Decorator | FanOut, event: Event | None = None) -> Failed:
        steps = [BoundDecorator(decorator, "mine", provider=PROVIDER)]
        event = event or Event(b"a", {"x": b"1"}, origin=ORIGIN)
        (outcome,) = Chain(steps, watcher=request.param).run(event)
        assert isinstance(outcome, Failed)
        assert (outcome.component, outcome.origin) == ("mine", ORIGIN)
        letter = DeadLetter(
            record=Record("t", 1, 2, None, b"a", 0),
            fan_out=outcome.origin.fan_out,
            attributes=outcome.event.attributes,
            pipeline="p",
            component=outcome.component,
            code=outcome.error.code,
            message=str(outcome.error),
            batch_time_ms=0,
            fingerprint="f",
        )
        assert DeadLetter.from_json(letter.to_json()).message == str(outcome.error)
        return outcome

    return run


def leave(**fields):
    """An action that sets fields of the event and keeps it."""

    def action(event):
        for name, value in fields.items():
            setattr(event, name, value)
        return True

    return action


def put(name, value):
    def action(event):
        event.attributes[name] = value
        return True

    return action


def fail(error):
    def action(event):
        raise error

    return action


LINE_OF_FAIL = fail.__code__.co_firstlineno + 2


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (ZeroDivisionError("by 0"), "ZeroDivisionError: by 0"),
            (SystemExit(3), "SystemExit: 3"),
            (RecursionError(), "RecursionError"),
            (StopIteration(), "StopIteration"),
            (GeneratorExit(), "GeneratorExit"),
            (asyncio.CancelledError(), "CancelledError"),
            (Panic("index out of bounds"), "Panic: index out of bounds"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_what_it_throws_is_a_bug_with_plugin_and_line(self, failure, error, message):
        outcome = failure(Calls(fail(error)))
        assert outcome.error.code == "decorator_bug"
        assert outcome.error.message == f"{message} ({__name__}:{LINE_OF_FAIL}, {PROVIDER})"
        assert outcome.error.__cause__ is error

    def test_an_error_on_purpose_stays_as_it_is(self, failure):
        error = DecorateError("no", code="refused", hint="write yes")
        assert failure(Calls(fail(error))).error is error

    @pytest.mark.parametrize("watcher", [None, nothing_seen])
    def test_want_of_memory_is_not_its_fault_and_is_told_with_step_event_and_line(self, watcher):
        chain = Chain([BoundDecorator(Calls(fail(MemoryError())), "mine", provider=PROVIDER)], watcher=watcher)
        with pytest.raises(OutOfMemoryError) as caught:
            chain.run(Event(b"a", origin=ORIGIN))
        assert (caught.value.code, caught.value.disposition) == ("out_of_memory", Disposition.RETRY)
        assert caught.value.message == (
            f'"mine" ran out of memory for event t/1/2: MemoryError ({__name__}:{LINE_OF_FAIL}, {PROVIDER})'
        )

    @pytest.mark.parametrize("watcher", [None, nothing_seen])
    def test_who_ends_the_program_ends_it(self, watcher):
        chain = Chain([BoundDecorator(Calls(fail(KeyboardInterrupt())), "mine", provider=PROVIDER)], watcher=watcher)
        with pytest.raises(KeyboardInterrupt):
            chain.run(Event(b"a", origin=ORIGIN))

    def test_line_is_the_plugins_own_and_not_a_library_s(self, failure):
        outcome = failure(Calls(parse))
        assert outcome.error.message.endswith(f"({__name__}:{LINE_OF_PARSE}, {PROVIDER})")

    def test_one_that_hangs_is_ended_and_named_with_its_line(self):
        chain = Chain([BoundDecorator(Calls(hang), "mine", provider=PROVIDER)])
        with TimeLimit(chain.guarded, tick_s=0.02, ticks=3):
            (outcome,) = chain.run(Event(b"a", origin=ORIGIN))
        assert (outcome.component, outcome.error.code) == ("mine", "decorator_timeout")
        assert outcome.error.message == (
            f"the decorator did not return within 3 s ({__name__}:{LINE_OF_HANG}, {PROVIDER})"
        )


def parse(event):
    return json.loads(b"{")


def hang(event):
    while True:
        event  # noqa: B018 - on one line, whichever part of it is interrupted


LINE_OF_PARSE = parse.__code__.co_firstlineno + 1
LINE_OF_HANG = hang.__code__.co_firstlineno + 1


class TestAnswers:
    @pytest.mark.parametrize("answer", [None, "yes", 1, 0, [], {"a": 1}])
    def test_what_is_no_answer(self, failure, answer):
        message = failure(Calls(lambda _event: answer)).error.message
        assert message == (
            f"TypeError: decorate returned {answer!r}; it must return True to keep the event or False to drop it "
            f"({PROVIDER})"
        )

    @pytest.mark.parametrize("answer", [None, 5, True])
    def test_fan_out_that_gives_no_events(self, failure, answer):
        message = failure(Makes(lambda _event: answer)).error.message
        assert message == f"TypeError: decorate returned {answer!r}; a fan-out must return events ({PROVIDER})"

    @pytest.mark.parametrize("made", [["a"], "a", [b"a"], [None], [{"body": b"a"}]])
    def test_fan_out_that_gives_something_else(self, failure, made):
        message = failure(Makes(lambda _event: made)).error.message
        assert message == f"TypeError: a fan-out returned {made[0]!r}, which is not an event ({PROVIDER})"

    def test_fan_out_whose_events_share_attributes(self, failure):
        message = failure(Makes(lambda event: [replace(event), replace(event)])).error.message
        assert message == (
            "TypeError: a fan-out returned two events that share their attributes; "
            f"copy them: dict(event.attributes) ({PROVIDER})"
        )


class TestWhatItLeaves:
    @pytest.mark.parametrize(
        ("name", "value", "kind"),
        [
            ("body", "text", "bytes"),
            ("body", None, "bytes"),
            ("timestamp_ms", 1.5, "int"),
            ("timestamp_ms", True, "int"),
            ("nanos", "5", "int"),
            ("host", b"h", "str"),
            ("priority", "INFO", "Priority"),
            ("key", None, "bytes"),
            ("tombstone", 0, "bool"),
            ("attributes", None, "dict"),
            ("attributes", [1], "dict"),
        ],
    )
    def test_field_of_another_type(self, failure, name, value, kind):
        message = failure(Calls(leave(**{name: value}))).error.message
        assert (
            message == f"TypeError: the decorator set the event's {name} to {value!r}; it must be {kind} ({PROVIDER})"
        )

    @pytest.mark.parametrize(("name", "value"), [("y", "text"), ("y", None), ("y", 5), (b"y", b"1"), (5, b"1")])
    def test_attribute_of_another_type(self, failure, name, value):
        outcome = failure(Calls(put(name, value)))
        assert outcome.error.message == (
            f"TypeError: the decorator set attribute {name!r} to {value!r}; "
            f"names must be str, values bytes ({PROVIDER})"
        )
        assert outcome.event.attributes == {"x": b"1"}

    def test_event_made_by_a_fan_out(self, failure):
        made = Makes(lambda event: [replace(event, attributes={"y": 5})])
        assert "the decorator set attribute 'y' to 5" in failure(made).error.message

    @pytest.mark.parametrize("origin", [None, Origin("t", 1, 3)])
    def test_origin(self, origin):
        steps = [BoundDecorator(Calls(leave(origin=origin)), "mine", provider=PROVIDER)]
        (outcome,) = Chain(steps).run(Event(b"a", origin=ORIGIN))
        assert "the decorator changed the event's origin" in outcome.error.message
        assert isinstance(outcome.origin, Origin)

    def test_rubbish_of_one_that_fails_is_kept_out_of_the_dead_letter(self, failure):
        def action(event):
            event.attributes["y"] = 5
            raise DecorateError("no")

        assert failure(Calls(action)).event.attributes == {"x": b"1"}

    def test_what_it_leaves_of_an_event_it_drops_is_nobodys(self):
        def action(event):
            event.body = None
            return False

        (outcome,) = Chain([BoundDecorator(Calls(action), "mine", provider=PROVIDER)]).run(Event(b"a"))
        assert outcome.reason == "calls"

    def test_a_good_one_passes(self):
        (outcome,) = Chain([BoundDecorator(Calls(put("y", b"\xff")), "mine", provider=PROVIDER)]).run(Event(b"a"))
        assert isinstance(outcome, Event)
        assert outcome.attributes == {"y": b"\xff"}


class Refuses(Decorator[Settings]):
    """Can not be made."""

    kind = "refuses"

    def __init__(self, settings):
        raise FileNotFoundError(2, "No such file", "/no/table.csv")

    def decorate(self, event):
        return True


class Cancels(Decorator[Settings]):
    """Ends with what is no Exception."""

    kind = "cancels"

    def __init__(self, settings):
        raise asyncio.CancelledError

    def decorate(self, event):
        return True


class Forgets(Decorator[Settings]):
    """Does not keep its settings."""

    kind = "forgets"

    def __init__(self, settings):
        pass

    def decorate(self, event):
        return True


class Reasonless(Decorator[Settings]):
    """Drops for no reason."""

    kind = "reasonless"
    drop_reason = None

    def decorate(self, event):
        return False


class Sets(Decorator[Settings]):
    """Leaves text where bytes belong, which no dead letter could hold."""

    kind = "sets"

    def decorate(self, event):
        event.attributes["2hb_"] = "text"
        return True


def plan(component: type) -> Plan:
    """A pipeline with one step of a plugin, into a store in memory."""
    part = planned("mine", f"{__name__}:{component.__name__}", Settings(), OnError.DEAD_LETTER, provider=PROVIDER)
    sink = Attr2HBase.settings_class().model_validate({"store": "m", "table": "t"})
    sinks = (planned("attr2hbase", "sinks.mapping.attr2hbase:Attr2HBase", sink, OnError.DEAD_LETTER),)
    stores = {"m": planned("m", "sinks.memory:MemoryStore", MemorySettings())}
    return Plan("p", "f", "UTC", OnError.DEAD_LETTER, Decoding(), (part,), sinks, stores)


class TestMaking:
    @pytest.mark.parametrize(
        ("component", "message"),
        [
            (Refuses, "FileNotFoundError: [Errno 2] No such file: '/no/table.csv'"),
            (Cancels, "CancelledError"),
            (Forgets, "TypeError: its attribute `settings` is not the settings it was given"),
            (Reasonless, "TypeError: its drop_reason is None; it must be a str"),
        ],
    )
    def test_one_that_cannot_be_made_is_named(self, component, message):
        with pytest.raises(CatalogError) as caught:
            live_chain(plan(component))
        assert caught.value.code == "bad_plugin"
        assert caught.value.message.startswith(f'"mine" cannot be created: {message} (')
        assert caught.value.message.endswith(f"{PROVIDER})")

    def test_a_task_goes_on(self, tmp_path: Path):
        records = [Record("t", 0, offset, b"k", b"v", 0) for offset in range(3)]
        assignment = spec_of(5, prepared={"m": Prepared(str(tmp_path), {"t": frozenset()})})
        receipt = live_task(plan(Sets)).run(records, assignment)
        letters = [DeadLetter.from_json(line) for line in receipt.dead_letters]
        assert receipt.status is TaskStatus.DURABLE
        assert [(letter.component, letter.code) for letter in letters] == [("mine", "decorator_bug")] * 3
        assert PROVIDER in letters[0].message
