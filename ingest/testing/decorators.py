# ruff: noqa: S101 - a suite is made of assertions
"""The contract of every decorator, as a suite to inherit from."""

import contextlib
import pickle
from collections.abc import Iterable, Iterator
from typing import ClassVar

import pytest

from ingest.api import Event, EventError, Example, Settings
from ingest.plugins.contract import check_component
from ingest.plugins.guard import check_event
from ingest.testing.events import (
    event_before,
    event_of,
    events_after,
    events_earlier,
    fields_of,
    files_of,
    random_events,
    settings_of,
)
from ingest.testing.purity import digest, digest_elsewhere, impurities_of, uses
from ingest.testing.splits import AnyDecorator, outcomes_of_split

_MIN_EXAMPLES = 2  # the common case and the edge
_CORE = {"body": "body", "host": "host", "nanos": "nanos", "priority": "priority", "timestamp": "timestamp_ms"}


class DecoratorContract:
    """
    The contract of `ingest.api.Decorator` and `FanOut`.

    Name the decorator::

        class TestSplit(DecoratorContract):
            decorator = Split

    For several, override the fixture `kind_of_decorator` with one that has parameters. The suite does not measure
    speed: such a test fails on a busy machine.
    """

    decorator: ClassVar[type[AnyDecorator]]

    @pytest.fixture
    def kind_of_decorator(self) -> type[AnyDecorator]:
        """The class under test."""
        return self.decorator

    @pytest.fixture(autouse=True)
    def _files(self, kind_of_decorator: type[AnyDecorator]) -> Iterator[None]:
        """The files that its examples name are in the current folder."""
        with files_of(kind_of_decorator.examples):
            yield

    def test_it_can_be_used(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Name, docstring, examples, and options with types and texts: without them a pipeline refuses it."""
        check_component(kind_of_decorator, "decorators", kind_of_decorator.kind)

    def test_it_has_examples(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """At least the common case and an edge; each says what it shows."""
        titles = [example.title for example in kind_of_decorator.examples]
        assert len(set(titles)) == len(titles) >= _MIN_EXAMPLES

    def test_examples_are_true(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Each example gives the result it shows, in plain and in write-once events, every time."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in (event_before(example), event_before(example), _write_once(event_before(example))):
                assert _result(decorator, event, events_earlier(example)) == _expected(example), example.title

    def test_every_example_uses_what_it_documents(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Together the examples change, drop or refuse something; only what has no options may do nothing."""
        assert kind_of_decorator.settings_class() is Settings or any(
            example.error or events_after(example) != [event_before(example)] for example in kind_of_decorator.examples
        )

    def test_it_sets_no_other_names_than_it_says(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Warnings about row keys and cells depend on `sets` and `other_names` of the settings."""
        for example in kind_of_decorator.examples:
            settings = settings_of(kind_of_decorator.settings_class(), example.settings)
            named = {name for name, value in example.after.items() if value is not None}
            named |= {name for _, attributes in example.made or () for name in attributes}
            others = settings.other_names
            undeclared = named - settings.sets() - example.attributes.keys()
            undeclared = {name for name in undeclared if others is None or not name.startswith(others)}
            assert not undeclared, f"{example.title}: it sets {sorted(undeclared)}"

    def test_it_sets_nothing_else_of_an_event_than_it_says(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Warnings about row keys of bodies, times and hosts depend on `sets_core` of the settings."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            before = event_before(example)
            for after in _came_out(decorator, before.copy()):
                changed = {name for name, field in _CORE.items() if getattr(after, field) != getattr(before, field)}
                undeclared = changed - decorator.settings.sets_core()
                assert not undeclared, f"{example.title}: it sets {sorted(undeclared)}"

    def test_an_event_that_fails_is_unchanged(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Computed first, assigned last; and only EventErrors are raised, whatever the bytes."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in [event_before(example), *random_events()]:
                before = event.copy()
                if isinstance(_result(decorator, event), str):
                    assert event == before, example.title

    def test_any_bytes_do_not_crash_it(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """For any event it returns True, False or events, or raises an EventError."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in random_events(1_000, seed=2):
                _result(decorator, event)

    def test_its_output_is_a_valid_event(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Bytes in body and attributes, text as names, numbers as times, and the origin it had."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in [event_before(example), *random_events()]:
                for after in _came_out(decorator, event):
                    check_event(after, event.origin)

    def test_it_uses_no_clock_and_no_randomness(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """What is stored is the same on every replay."""
        if not kind_of_decorator.deterministic:
            pytest.skip("it declares that it is not deterministic")
        assert set().union(*map(impurities_of, uses(kind_of_decorator))) == set()

    def test_another_process_gives_the_same(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """The result does not depend on the order of a set, nor on the zone or language of the machine."""
        if not kind_of_decorator.deterministic:
            pytest.skip("it declares that it is not deterministic")
        assert digest_elsewhere(kind_of_decorator) == digest(kind_of_decorator)

    def test_it_is_pure(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """The same event gives the same result, also in another instance that has decorated other events."""
        if kind_of_decorator.stateful or not kind_of_decorator.deterministic:
            pytest.skip("it declares that it is stateful or not deterministic")
        for example in kind_of_decorator.examples:
            first, second = _made(kind_of_decorator, example), _made(kind_of_decorator, example)
            results = [_result(first, event.copy()) for event in random_events()]
            assert [_result(second, event.copy()) for event in reversed(list(random_events()))] == results[::-1]

    def test_a_split_that_runs_again_gives_the_same(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Also after an abandoned attempt, whose state must be dropped."""
        for example in kind_of_decorator.examples:
            first, second = _made(kind_of_decorator, example), _made(kind_of_decorator, example)
            split = [*events_earlier(example), event_before(example), *random_events()]
            for event in split[: len(split) // 2]:
                _decorated(second, event.copy())
            results = [
                [_shown(each) for each in outcomes_of_split(decorator, (each.copy() for each in split))]
                for decorator in (first, second, second)
            ]
            assert results[1:] == [results[0]] * 2, example.title

    def test_events_share_nothing(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Two events never get the same attributes object."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            events = [*_came_out(decorator, event_before(example)), *_came_out(decorator, event_before(example))]
            assert len({id(event.attributes) for event in events}) == len(events)

    def test_it_keeps_the_rest_of_the_event(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """A decorator must not change the origin, key or tombstone of an event."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in random_events():
                before = event.copy()
                for after in _came_out(decorator, event):
                    assert (after.origin, after.key, after.tombstone) == (before.origin, before.key, before.tombstone)
                    assert type(after) is type(before)

    def test_it_travels_to_the_workers(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Settings are pickled on the driver; the worker's decorator behaves the same."""
        for example in kind_of_decorator.examples:
            settings = settings_of(kind_of_decorator.settings_class(), example.settings)
            travelled = pickle.loads(pickle.dumps(settings))  # noqa: S301 - our own
            assert travelled == settings
            event, earlier = event_before(example), events_earlier(example)
            assert _result(kind_of_decorator(travelled), event, earlier) == _expected(example)

    def test_unknown_options_are_refused(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """No option is silently ignored."""
        with pytest.raises(ValueError, match="surely_no_option"):
            settings_of(kind_of_decorator.settings_class(), "{surely_no_option: 1}")

    def test_a_drop_has_a_reason(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Counts are by reason."""
        for example in kind_of_decorator.examples:
            assert _made(kind_of_decorator, example).drop_reason


def _made(kind: type[AnyDecorator], example: Example) -> AnyDecorator:
    return kind(settings_of(kind.settings_class(), example.settings))


def _write_once(event: Event) -> Event:
    return event_of(
        event.body,
        event.attributes,
        host=event.host,
        priority=event.priority,
        key=event.key,
        timestamp_ms=event.timestamp_ms,
        nanos=event.nanos,
        origin=event.origin,
        write_once=True,
    )


def _came_out(decorator: AnyDecorator, event: Event) -> list[Event]:
    """The events that came out for one event; none if it was dropped or failed."""
    (found,) = outcomes_of_split(decorator, [event])
    return [] if isinstance(found, EventError) else found


def _decorated(decorator: AnyDecorator, event: Event) -> None:
    """An event of a split that is abandoned before its end."""
    with contextlib.suppress(EventError):
        decorator.decorate(event)


def _result(decorator: AnyDecorator, event: Event, earlier: Iterable[Event] = ()) -> object:
    """The outcome of the last event of a split: the code of its error, or the fields of the events that came out."""
    return _shown(outcomes_of_split(decorator, [*earlier, event])[-1])


def _shown(found: list[Event] | EventError) -> object:
    return found.code if isinstance(found, EventError) else [fields_of(each) for each in found]


def _expected(example: Example) -> object:
    return example.error if example.error is not None else [fields_of(event) for event in events_after(example)]
