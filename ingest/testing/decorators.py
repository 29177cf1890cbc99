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
from ingest.testing.splits import AnyDecorator, constructed, outcomes_of_split

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
        """Creates the files that the examples name, in the current folder."""
        with files_of(kind_of_decorator.examples):
            yield

    def test_class_is_accepted_by_pipelines(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Name, docstring, examples, and options with types and texts: without them pipelines reject it."""
        check_component(kind_of_decorator, "decorators", kind_of_decorator.kind)

    def test_examples_show_the_common_case_and_an_edge(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Each has a title that says what it shows."""
        titles = [example.title for example in kind_of_decorator.examples]
        assert len(set(titles)) == len(titles) >= _MIN_EXAMPLES

    def test_examples_give_the_documented_result(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """In plain and in write-once events, every time."""
        for example in kind_of_decorator.examples:
            decorator = constructed(kind_of_decorator, example)
            for event in (event_before(example), event_before(example), _write_once(event_before(example))):
                assert _result(decorator, event, events_earlier(example)) == _expected(example), example.title

    def test_examples_have_an_effect(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """At least one changes, drops or refuses an event, unless the decorator has no options."""
        assert kind_of_decorator.settings_class() is Settings or any(
            example.error or events_after(example) != [event_before(example)] for example in kind_of_decorator.examples
        )

    def test_sets_only_declared_attributes(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Warnings about row keys and cells depend on `sets` and `other_names` of the settings."""
        for example in kind_of_decorator.examples:
            settings = settings_of(kind_of_decorator.settings_class(), example.settings)
            named = {name for name, value in example.after.items() if value is not None}
            named |= {name for _, attributes in example.made or () for name in attributes}
            others = (*settings.further_prefixes, *(() if settings.other_names is None else [settings.other_names]))
            undeclared = named - settings.sets() - example.attributes.keys()
            undeclared = {name for name in undeclared if not name.startswith(others)}
            assert not undeclared, f"{example.title}: it sets {sorted(undeclared)}"

    def test_sets_only_declared_core_fields(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Warnings about row keys of bodies, times and hosts depend on `sets_core` of the settings."""
        for example in kind_of_decorator.examples:
            decorator = constructed(kind_of_decorator, example)
            before = event_before(example)
            for after in _outputs(decorator, before.copy()):
                changed = {name for name, field in _CORE.items() if getattr(after, field) != getattr(before, field)}
                undeclared = changed - decorator.settings.sets_core()
                assert not undeclared, f"{example.title}: it sets {sorted(undeclared)}"

    def test_failed_event_is_unchanged(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """A decorator computes first and assigns last; it raises only EventErrors."""
        for example in kind_of_decorator.examples:
            decorator = constructed(kind_of_decorator, example)
            for event in [event_before(example), *random_events()]:
                before = event.copy()
                if isinstance(_result(decorator, event), str):
                    assert event == before, example.title

    def test_arbitrary_events_raise_only_event_errors(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Any event gives True, False, events or an EventError."""
        for example in kind_of_decorator.examples:
            decorator = constructed(kind_of_decorator, example)
            for event in random_events(400, seed=2):
                _result(decorator, event)

    def test_output_events_are_valid(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Bytes in body and attributes, text as names, numbers as times, and the original origin."""
        for example in kind_of_decorator.examples:
            decorator = constructed(kind_of_decorator, example)
            for event in [event_before(example), *random_events()]:
                for after in _outputs(decorator, event):
                    check_event(after, event.origin)

    def test_uses_no_clock_or_randomness(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """A replay stores the same data."""
        if not kind_of_decorator.deterministic:
            pytest.skip("it declares that it is not deterministic")
        assert set().union(*map(impurities_of, uses(kind_of_decorator))) == set()

    def test_another_process_gives_the_same_result(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """The result does not depend on the order of a set, nor on the zone or language of the machine."""
        if not kind_of_decorator.deterministic:
            pytest.skip("it declares that it is not deterministic")
        assert digest_elsewhere(kind_of_decorator) == digest(kind_of_decorator)

    def test_result_does_not_depend_on_earlier_events(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """The same event gives the same result, also in another instance that has decorated other events."""
        if kind_of_decorator.stateful or not kind_of_decorator.deterministic:
            pytest.skip("it declares that it is stateful or not deterministic")
        for example in kind_of_decorator.examples:
            first, second = constructed(kind_of_decorator, example), constructed(kind_of_decorator, example)
            results = [_result(first, event.copy()) for event in random_events()]
            assert [_result(second, event.copy()) for event in reversed(list(random_events()))] == results[::-1]

    def test_replayed_split_gives_the_same_result(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Also after an abandoned attempt, whose state must be dropped."""
        for example in kind_of_decorator.examples:
            first, second = constructed(kind_of_decorator, example), constructed(kind_of_decorator, example)
            split = [*events_earlier(example), event_before(example), *random_events()]
            for event in split[: len(split) // 2]:
                _decorated(second, event.copy())
            results = [
                [_shown(each) for each in outcomes_of_split(decorator, (each.copy() for each in split))]
                for decorator in (first, second, second)
            ]
            assert results[1:] == [results[0]] * 2, example.title

    def test_events_share_no_attributes_object(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Two events never get the same attributes object."""
        for example in kind_of_decorator.examples:
            decorator = constructed(kind_of_decorator, example)
            events = [*_outputs(decorator, event_before(example)), *_outputs(decorator, event_before(example))]
            assert len({id(event.attributes) for event in events}) == len(events)

    def test_keeps_origin_key_and_tombstone(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """A decorator must not change the origin, key or tombstone of an event."""
        for example in kind_of_decorator.examples:
            decorator = constructed(kind_of_decorator, example)
            for event in random_events():
                before = event.copy()
                for after in _outputs(decorator, event):
                    assert (after.origin, after.key, after.tombstone) == (before.origin, before.key, before.tombstone)
                    assert type(after) is type(before)

    def test_pickled_settings_give_the_same_result(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Settings are pickled on the driver; the worker's decorator behaves the same."""
        for example in kind_of_decorator.examples:
            settings = settings_of(kind_of_decorator.settings_class(), example.settings)
            copy = pickle.loads(pickle.dumps(settings))  # noqa: S301 - our own
            assert copy == settings
            event, earlier = event_before(example), events_earlier(example)
            assert _result(constructed(kind_of_decorator, example, copy), event, earlier) == _expected(example)

    def test_unknown_options_are_rejected(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """No option is silently ignored."""
        with pytest.raises(ValueError, match="surely_no_option"):
            settings_of(kind_of_decorator.settings_class(), "{surely_no_option: 1}")

    def test_drop_has_a_reason(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Dropped events are counted by reason."""
        for example in kind_of_decorator.examples:
            assert constructed(kind_of_decorator, example).drop_reason


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


def _outputs(decorator: AnyDecorator, event: Event) -> list[Event]:
    """The output events for one event; none if it was dropped or failed."""
    (found,) = outcomes_of_split(decorator, [event])
    return [] if isinstance(found, EventError) else found


def _decorated(decorator: AnyDecorator, event: Event) -> None:
    """An event of a split that is abandoned before its end."""
    with contextlib.suppress(EventError):
        decorator.decorate(event)


def _result(decorator: AnyDecorator, event: Event, earlier: Iterable[Event] = ()) -> object:
    """The outcome of the last event of a split: the code of its error, or the fields of the output events."""
    return _shown(outcomes_of_split(decorator, [*earlier, event])[-1])


def _shown(found: list[Event] | EventError) -> object:
    return found.code if isinstance(found, EventError) else [fields_of(each) for each in found]


def _expected(example: Example) -> object:
    return example.error if example.error is not None else [fields_of(event) for event in events_after(example)]
