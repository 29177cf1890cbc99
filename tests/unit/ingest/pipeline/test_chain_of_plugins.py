"""Plugins with bugs: their events fail, and the errors name the plugin and the line."""

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
from ingest.pipeline.chain import Chain
from ingest.pipeline.outcomes import BoundDecorator, Failed
from ingest.pipeline.time_limit import TimeLimit
from ingest.plan.assemble import live_chain, live_task
from ingest.plan.plan import Plan
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


class Decorates(Decorator[Settings]):
    """Calls the action."""

    kind = "decorates"

    def __init__(self, action):
        super().__init__(Settings())
        self._action = action

    def decorate(self, event):
        return self._action(event)


class FansOut(FanOut[Settings]):
    """Returns the result of the action."""

    kind = "fans_out"

    def __init__(self, action):
        super().__init__(Settings())
        self._action = action

    def decorate(self, event):
        return self._action(event)


def ignore(*_):
    pass


@pytest.fixture(params=[None, ignore], ids=["plain", "in stages"])
def failure(request):
    """Runs one decorator of a plugin and returns its failure; both paths through the chain give the same."""

    def run(decorator: Decorator | FanOut, event: Event | None = None) -> Failed:
        decorators = [BoundDecorator(decorator, "mine", provider=PROVIDER)]
        event = event or Event(b"a", {"x": b"1"}, origin=ORIGIN)
        (outcome,) = Chain(decorators, watcher=request.param).run(event)
        assert isinstance(outcome, Failed)
        assert (outcome.component, outcome.origin) == ("mine", ORIGIN)
        dead_letter = DeadLetter(
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
        assert DeadLetter.from_json(dead_letter.to_json()).message == str(outcome.error)
        return outcome

    return run


def set_fields(**fields):
    """An action that sets fields of the event and keeps it."""

    def action(event):
        for name, value in fields.items():
            setattr(event, name, value)
        return True

    return action


def set_attribute(name, value):
    def action(event):
        event.attributes[name] = value
        return True

    return action


def raising(error):
    def action(event):
        raise error

    return action


LINE_OF_FAIL = raising.__code__.co_firstlineno + 2


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
    def test_exception_is_a_bug_with_plugin_and_line(self, failure, error, message):
        outcome = failure(Decorates(raising(error)))
        assert outcome.error.code == "decorator_bug"
        assert outcome.error.message == f"{message} ({__name__}:{LINE_OF_FAIL}, {PROVIDER})"
        assert outcome.error.__cause__ is error

    def test_event_error_is_unchanged(self, failure):
        error = DecorateError("no", code="refused", hint="write yes")
        assert failure(Decorates(raising(error))).error is error

    @pytest.mark.parametrize("watcher", [None, ignore])
    def test_out_of_memory_names_decorator_event_and_line(self, watcher):
        chain = Chain([BoundDecorator(Decorates(raising(MemoryError())), "mine", provider=PROVIDER)], watcher=watcher)
        with pytest.raises(OutOfMemoryError) as caught:
            chain.run(Event(b"a", origin=ORIGIN))
        assert (caught.value.code, caught.value.disposition) == ("out_of_memory", Disposition.RETRY)
        assert caught.value.message == (
            f'"mine" ran out of memory for event t/1/2: MemoryError ({__name__}:{LINE_OF_FAIL}, {PROVIDER})'
        )

    @pytest.mark.parametrize("watcher", [None, ignore])
    def test_keyboard_interrupt_is_raised(self, watcher):
        chain = Chain(
            [BoundDecorator(Decorates(raising(KeyboardInterrupt())), "mine", provider=PROVIDER)], watcher=watcher
        )
        with pytest.raises(KeyboardInterrupt):
            chain.run(Event(b"a", origin=ORIGIN))

    def test_line_is_that_of_the_plugin_and_not_of_a_library(self, failure):
        outcome = failure(Decorates(parse))
        assert outcome.error.message.endswith(f"({__name__}:{LINE_OF_PARSE}, {PROVIDER})")

    def test_timeout_names_decorator_and_line(self):
        chain = Chain([BoundDecorator(Decorates(hang), "mine", provider=PROVIDER)])
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
        event  # noqa: B018 - one line, so that the line of the interrupt is known


LINE_OF_PARSE = parse.__code__.co_firstlineno + 1
LINE_OF_HANG = hang.__code__.co_firstlineno + 1


class TestResults:
    @pytest.mark.parametrize("answer", [None, "yes", 1, 0, [], {"a": 1}])
    def test_result_that_is_not_a_boolean_is_a_bug(self, failure, answer):
        message = failure(Decorates(lambda _event: answer)).error.message
        assert message == (
            f"TypeError: decorate returned {answer!r}; it must return True to keep the event or False to drop it "
            f"({PROVIDER})"
        )

    @pytest.mark.parametrize("answer", [None, 5, True])
    def test_fan_out_without_a_list_is_a_bug(self, failure, answer):
        message = failure(FansOut(lambda _event: answer)).error.message
        assert message == f"TypeError: decorate returned {answer!r}; a fan-out must return events ({PROVIDER})"

    @pytest.mark.parametrize("made", [["a"], "a", [b"a"], [None], [{"body": b"a"}]])
    def test_fan_out_with_other_items_than_events_is_a_bug(self, failure, made):
        message = failure(FansOut(lambda _event: made)).error.message
        assert message == f"TypeError: a fan-out returned {made[0]!r}, which is not an event ({PROVIDER})"

    def test_fan_out_whose_events_share_attributes_is_a_bug(self, failure):
        message = failure(FansOut(lambda event: [replace(event), replace(event)])).error.message
        assert message == (
            "TypeError: a fan-out returned two events that share their attributes; "
            f"copy them: dict(event.attributes) ({PROVIDER})"
        )


class TestInvalidEvents:
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
    def test_field_of_another_type_is_a_bug(self, failure, name, value, kind):
        message = failure(Decorates(set_fields(**{name: value}))).error.message
        assert (
            message == f"TypeError: the decorator set the event's {name} to {value!r}; it must be {kind} ({PROVIDER})"
        )

    @pytest.mark.parametrize(("name", "value"), [("y", "text"), ("y", None), ("y", 5), (b"y", b"1"), (5, b"1")])
    def test_attribute_of_another_type_is_a_bug(self, failure, name, value):
        outcome = failure(Decorates(set_attribute(name, value)))
        assert outcome.error.message == (
            f"TypeError: the decorator set attribute {name!r} to {value!r}; "
            f"names must be str, values bytes ({PROVIDER})"
        )
        assert outcome.event.attributes == {"x": b"1"}

    def test_invalid_event_of_a_fan_out_is_a_bug(self, failure):
        made = FansOut(lambda event: [replace(event, attributes={"y": 5})])
        assert "the decorator set attribute 'y' to 5" in failure(made).error.message

    @pytest.mark.parametrize("origin", [None, Origin("t", 1, 3)])
    def test_changed_origin_is_a_bug(self, origin):
        decorators = [BoundDecorator(Decorates(set_fields(origin=origin)), "mine", provider=PROVIDER)]
        (outcome,) = Chain(decorators).run(Event(b"a", origin=ORIGIN))
        assert "the decorator changed the event's origin" in outcome.error.message
        assert outcome.origin == (origin or Origin("", 0, 0))

    def test_dead_letter_has_no_invalid_attributes(self, failure):
        def action(event):
            event.attributes["y"] = 5
            raise DecorateError("no")

        assert failure(Decorates(action)).event.attributes == {"x": b"1"}

    def test_dropped_event_is_not_checked(self):
        def action(event):
            event.body = None
            return False

        (outcome,) = Chain([BoundDecorator(Decorates(action), "mine", provider=PROVIDER)]).run(Event(b"a"))
        assert outcome.reason == "decorates"

    def test_valid_event_passes(self):
        (outcome,) = Chain([BoundDecorator(Decorates(set_attribute("y", b"\xff")), "mine", provider=PROVIDER)]).run(
            Event(b"a")
        )
        assert isinstance(outcome, Event)
        assert outcome.attributes == {"y": b"\xff"}


class Refuses(Decorator[Settings]):
    """Its constructor raises."""

    kind = "refuses"

    def __init__(self, settings):
        raise FileNotFoundError(2, "No such file", "/no/table.csv")

    def decorate(self, event):
        return True


class Cancels(Decorator[Settings]):
    """Its constructor raises a BaseException."""

    kind = "cancels"

    def __init__(self, settings):
        raise asyncio.CancelledError

    def decorate(self, event):
        return True


class Forgets(Decorator[Settings]):
    """Does not store its settings."""

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
    """Sets an attribute to text, which a dead letter cannot contain."""

    kind = "sets"

    def decorate(self, event):
        event.attributes["2hb_"] = "text"
        return True


def plan(component: type) -> Plan:
    """A pipeline with one decorator of a plugin and a store in memory."""
    part = planned("mine", f"{__name__}:{component.__name__}", Settings(), OnError.DEAD_LETTER, provider=PROVIDER)
    sink = Attr2HBase.settings_class().model_validate({"store": "m", "table": "t"})
    sinks = (planned("attr2hbase", "sinks.mapping.attr2hbase:Attr2HBase", sink, OnError.DEAD_LETTER),)
    stores = {"m": planned("m", "sinks.memory:MemoryStore", MemorySettings())}
    return Plan("p", "f", "UTC", OnError.DEAD_LETTER, Decoding(), (part,), sinks, stores)


class TestConstruction:
    @pytest.mark.parametrize(
        ("component", "message"),
        [
            (Refuses, "FileNotFoundError: [Errno 2] No such file: '/no/table.csv'"),
            (Cancels, "CancelledError"),
            (Forgets, "TypeError: its attribute `settings` is not the settings it was given"),
            (Reasonless, "TypeError: its drop_reason is None; it must be a str"),
        ],
    )
    def test_error_names_the_decorator_that_cannot_be_constructed(self, component, message):
        with pytest.raises(CatalogError) as caught:
            live_chain(plan(component))
        assert caught.value.code == "bad_plugin"
        assert caught.value.message.startswith(f'"mine" cannot be created: {message} (')
        assert caught.value.message.endswith(f"{PROVIDER})")

    def test_task_continues_after_failed_events(self, tmp_path: Path):
        records = [Record("t", 0, offset, b"k", b"v", 0) for offset in range(3)]
        spec = spec_of(5, prepared={"m": Prepared(str(tmp_path), {"t": frozenset()})})
        receipt = live_task(plan(Sets)).run(records, spec)
        dead_letters = [DeadLetter.from_json(line) for line in receipt.dead_letters]
        assert receipt.status is TaskStatus.DURABLE
        assert [(dead_letter.component, dead_letter.code) for dead_letter in dead_letters] == [
            ("mine", "decorator_bug")
        ] * 3
        assert PROVIDER in dead_letters[0].message
