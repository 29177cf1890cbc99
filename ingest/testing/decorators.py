# ruff: noqa: S101 - a suite is made of assertions
"""What every decorator keeps, as a suite to inherit from."""

import contextlib
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import pytest

from ingest.api import Event, EventError, Example, Priority, Settings
from ingest.plugin import check_component, check_event
from ingest.testing.events import (
    event_before,
    event_of,
    events_after,
    events_earlier,
    fields_of,
    files_of,
    random_events,
    settings_of,
    settings_with_cases,
)
from ingest.testing.purity import asked_for, digest, digest_elsewhere, uses
from ingest.testing.shares import AnyDecorator, share_of

_MIN_EXAMPLES = 2  # the common case and the edge
_BEFORE: dict[str, tuple[object, object]] = {
    "host": ("before.example", "other.example"),
    "nanos": (1, 2),
    "priority": (Priority.FATAL, Priority.TRACE),
    "timestamp": (1, 2),
}
_CORE = {"body": "body", "host": "host", "nanos": "nanos", "priority": "priority", "timestamp": "timestamp_ms"}


class DecoratorContract:
    """
    The contract of `ingest.api.Decorator` and `FanOut`.

    Say which decorator it is::

        class TestSplit(DecoratorContract):
            decorator = Split

    For several, override the fixture `kind_of_decorator` with one that has parameters. Speed is not asked for here: a
    test that looks at the clock fails on a busy machine.
    """

    decorator: ClassVar[type[AnyDecorator]]

    @pytest.fixture
    def kind_of_decorator(self) -> type[AnyDecorator]:
        """The class under test."""
        return self.decorator

    @pytest.fixture(autouse=True)
    def _files(self, kind_of_decorator: type[AnyDecorator]) -> Iterator[None]:
        """The files its examples name lie in the current folder."""
        with files_of(kind_of_decorator.examples):
            yield

    def test_it_can_be_used(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Name, docstring, examples, and options with types and texts: without them no pipeline takes it."""
        check_component(kind_of_decorator, "decorators", kind_of_decorator.kind)

    def test_it_has_examples(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """At least the common case and an edge; each says what it shows."""
        titles = [example.title for example in kind_of_decorator.examples]
        assert len(set(titles)) == len(titles) >= _MIN_EXAMPLES

    def test_examples_are_true(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """What an example shows is what happens, in plain and in write-once events, time after time."""
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
        """`sets` and `other_names` of the settings are what warnings about row keys and cells go by."""
        for example in kind_of_decorator.examples:
            settings = settings_of(kind_of_decorator.settings_class(), example.settings)
            named = {name for name, value in example.after.items() if value is not None}
            named |= {name for _, attributes in example.made or () for name in attributes}
            others = settings.other_names
            unsaid = named - settings.sets() - example.attributes.keys()
            unsaid = {name for name in unsaid if others is None or not name.startswith(others)}
            assert not unsaid, f"{example.title}: it sets {sorted(unsaid)}"

    def test_it_sets_nothing_else_of_an_event_than_it_says(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """`sets_core` of the settings is what row keys are followed by that are made of bodies, times and hosts."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            before = event_before(example)
            for after in _came_out(decorator, before.copy()):
                changed = {name for name, field in _CORE.items() if getattr(after, field) != getattr(before, field)}
                unsaid = changed - decorator.settings.sets_core()
                assert not unsaid, f"{example.title}: it sets {sorted(unsaid)}"

    def test_it_surely_sets_what_it_says(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """`surely_sets` of the settings frees row keys of what was there before, whatever options `on_CASE` say."""
        model, examples = kind_of_decorator.settings_class(), kind_of_decorator.examples
        events = [*map(event_before, examples), *random_events()]
        for settings in (each for example in examples for each in settings_with_cases(model, example.settings)):
            decorator = kind_of_decorator(settings)
            read = settings.reads() | {f"attribute:{name}" for name in settings.passes_on()}
            for reference in sorted(settings.surely_sets()):
                is_set = _is_set if reference in read else _is_set_anew
                left = next((event for event in events if not is_set(decorator, event, reference)), None)
                assert left is None, f"{settings} does not set {reference} of {left}"

    def test_an_event_that_fails_is_unchanged(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Computed first, assigned last; and only EventErrors are raised, whatever the bytes."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in [event_before(example), *random_events()]:
                before = event.copy()
                if isinstance(_result(decorator, event), str):
                    assert event == before, example.title

    def test_any_bytes_do_not_crash_it(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Whatever an event holds, the answer is True, False, events or an EventError."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in random_events(1_000, seed=2):
                _result(decorator, event)

    def test_what_it_leaves_is_an_event(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Bytes in body and attributes, text as names, numbers as times, and the origin it had."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in [event_before(example), *random_events()]:
                for after in _came_out(decorator, event):
                    check_event(after, event.origin)

    def test_it_asks_for_no_clock_and_no_chance(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """What is stored is the same on every replay."""
        if not kind_of_decorator.deterministic:
            pytest.skip("it gives something else each time, and says so")
        assert set().union(*map(asked_for, uses(kind_of_decorator))) == set()

    def test_another_process_gives_the_same(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Neither the order of a set, nor the zone or language of the machine is in what it gives."""
        if not kind_of_decorator.deterministic:
            pytest.skip("it gives something else each time, and says so")
        assert digest_elsewhere(kind_of_decorator) == digest(kind_of_decorator)

    def test_it_is_pure(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """The same event gives the same, also from another instance that has seen other events."""
        if kind_of_decorator.stateful or not kind_of_decorator.deterministic:
            pytest.skip("it remembers, or gives something else each time, and says so")
        for example in kind_of_decorator.examples:
            first, second = _made(kind_of_decorator, example), _made(kind_of_decorator, example)
            results = [_result(first, event.copy()) for event in random_events()]
            assert [_result(second, event.copy()) for event in reversed(list(random_events()))] == results[::-1]

    def test_a_share_that_runs_again_gives_the_same(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Also after a first attempt that was given up half way, of which nothing may be left."""
        for example in kind_of_decorator.examples:
            first, second = _made(kind_of_decorator, example), _made(kind_of_decorator, example)
            share = [*events_earlier(example), event_before(example), *random_events()]
            for event in share[: len(share) // 2]:
                _decorated(second, event.copy())
            results = [
                [_shown(each) for each in share_of(decorator, (each.copy() for each in share))]
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
        """Where an event comes from is not a decorator's to change."""
        for example in kind_of_decorator.examples:
            decorator = _made(kind_of_decorator, example)
            for event in random_events():
                before = event.copy()
                for after in _came_out(decorator, event):
                    assert (after.origin, after.key, after.tombstone) == (before.origin, before.key, before.tombstone)
                    assert type(after) is type(before)

    def test_it_travels_to_the_workers(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Settings are pickled on the driver; what is made of them there is the same."""
        for example in kind_of_decorator.examples:
            settings = settings_of(kind_of_decorator.settings_class(), example.settings)
            travelled = pickle.loads(pickle.dumps(settings))  # noqa: S301 - our own
            assert travelled == settings
            event, earlier = event_before(example), events_earlier(example)
            assert _result(kind_of_decorator(travelled), event, earlier) == _expected(example)

    def test_unknown_options_are_refused(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """No option is silently passed over."""
        with pytest.raises(ValueError, match="surely_no_option"):
            settings_of(kind_of_decorator.settings_class(), "{surely_no_option: 1}")

    def test_a_drop_has_a_reason(self, kind_of_decorator: type[AnyDecorator]) -> None:
        """Counts need a name for it."""
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
    """The events that came of one; none when it was dropped or failed."""
    (found,) = share_of(decorator, [event])
    return [] if isinstance(found, EventError) else found


def _is_set(decorator: AnyDecorator, event: Event, reference: str) -> bool:
    """Whether all that comes out has it, where the event that went in did not."""
    return None not in _given(decorator, event, reference, None)


def _is_set_anew(decorator: AnyDecorator, event: Event, reference: str) -> bool:
    """The same, and nothing that comes out has what it was before, whatever that was."""
    before = _BEFORE.get(reference, (b"\0before", b"\0other"))
    is_kept = all(value in _given(decorator, event, reference, value) for value in before)
    return not is_kept and _is_set(decorator, event, reference)


def _given(decorator: AnyDecorator, event: Event, reference: str, before: Any) -> list[object]:
    """What a reference is in each event that comes out, by what it was; an attribute that was None was not there."""
    event = event.copy()
    field, name = _CORE.get(reference), reference.removeprefix("attribute:")
    if field is not None:
        setattr(event, field, getattr(event, field) if before is None else before)
    elif before is not None:
        event.attributes[name] = before
    else:
        event.attributes.pop(name, None)
    came_out = _came_out(decorator, event)
    return [after.attributes.get(name) if field is None else getattr(after, field) for after in came_out]


def _decorated(decorator: AnyDecorator, event: Event) -> None:
    """An event of a share that is given up before its end."""
    with contextlib.suppress(EventError):
        decorator.decorate(event)


def _result(decorator: AnyDecorator, event: Event, earlier: Iterable[Event] = ()) -> object:
    """What became of an event in a share: the code of its error, or the fields of what came out."""
    return _shown(share_of(decorator, [*earlier, event])[-1])


def _shown(found: list[Event] | EventError) -> object:
    return found.code if isinstance(found, EventError) else [fields_of(each) for each in found]


def _expected(example: Example) -> object:
    return example.error if example.error is not None else [fields_of(event) for event in events_after(example)]
