"""Every built-in step is watched: what comes out otherwise when one thing goes in otherwise, it says it passes on."""

from importlib import import_module

import pytest

from decorators import BUILTIN
from ingest.api import EventError, Priority
from ingest.config.changes import Changes, passed_on
from ingest.config.model import Component
from ingest.config.problems import Place
from ingest.testing.events import event_before, events_earlier, files_of, random_events, settings_of
from ingest.testing.shares import share_of

MORE = {  # options that the examples leave out
    "explode": ["{form: lines, attribute: part}", "{form: lines, source: tags}"],
    "flatten": ["{attributes: {user: ''}, keep: true}"],
    "host": ["{form: short}", "{source: node}", "{attribute: node}"],
    "max_size": ["{max_bytes: 12B, on_larger: cut}"],
    "prefix": ["{strip: a, add: b}"],
    "rename": ["{pattern: a, replacement: 2hb_, attributes: {b: a}}"],
    "template": ["{attributes: {a: '%{b}', b: '%{a}'}, body: '%{host}%{time}'}"],
    "timestamp": ["{source: time, on_invalid: keep}"],
    "truncate_time": ["{to: day, on_invalid: keep}"],
}
CORE = {"body": "body", "host": "host", "nanos": "nanos", "priority": "priority", "timestamp": "timestamp_ms"}
TABLE = Component("lookup", settings=None, where=Place("p.yaml", 1, 1))


def load(kind):
    module, name = BUILTIN[kind].split(":")
    return getattr(import_module(module), name)


def told(event):
    """Reference -> value of all that an event has."""
    attributes = {f"attribute:{name}": value for name, value in event.attributes.items()}
    return {**attributes, **{name: getattr(event, field) for name, field in CORE.items()}}


def changed(event, reference, value):
    other = event.copy()
    if reference in CORE:
        setattr(other, CORE[reference], value)
    else:
        other.attributes[reference.removeprefix("attribute:")] = value
    return other


def others(value, values):
    """Other values for one: those that examples have, and what is nearly the same."""
    match value:
        case Priority():
            return [Priority.FATAL, Priority.DEBUG]
        case int():
            return [value + 1, value + 86_400_000, value + 10**12, 0]
        case str():
            return [value + "x", "db-2.example.org"]
        case _:
            return [value + b"x", value[:-1], value.replace(b"1", b"2"), value.swapcase(), b"7", *values]


def came_out(kind, settings, events):
    found = share_of(kind(settings), [event.copy() for event in events])[-1]
    return [] if isinstance(found, EventError) else found


def differences(first, second):
    """References of what differs between events that came of two."""
    found = set()
    for one, other in zip(first, second, strict=False):
        before, after = told(one), told(other)
        found |= {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return found


def cases(kind):
    examples = [example for example in kind.examples if example.error is None]
    for example in examples:
        yield settings_of(kind.settings_class(), example.settings), event_before(example), events_earlier(example)
    for text in MORE.get(kind.kind, ()):
        settings = settings_of(kind.settings_class(), text)
        for event in (*map(event_before, examples), *random_events(30)):
            yield settings, event, []


@pytest.mark.parametrize("name", [name for name in BUILTIN if load(name).deterministic])
def test_what_comes_out_otherwise_is_said_to_change(name):
    kind = load(name)
    events = [event_before(example) for example in kind.examples]
    values = {value for event in events for value in (event.body, *event.attributes.values())}
    with files_of(kind.examples):
        for settings, event, earlier in cases(kind):
            step = Component(name, settings=settings, where=Place("p.yaml", 2, 1))
            usual = came_out(kind, settings, [*earlier, event])
            for reference, value in told(event).items():
                after = passed_on(step, Changes({reference: TABLE}), "UTC")
                for other in others(value, sorted(values)):
                    found = came_out(kind, settings, [*earlier, changed(event, reference, other)])
                    unsaid = {name for name in differences(usual, found) if after.origin(name) is None}
                    assert not unsaid, (reference, other, settings)


@pytest.mark.parametrize("name", BUILTIN)
def test_what_it_does_not_read_changes_nothing_else(name):
    kind = load(name)
    with files_of(kind.examples):
        for settings, _, _ in cases(kind):
            step = Component(name, settings=settings, where=Place("p.yaml", 2, 1))
            after = passed_on(step, Changes({"attribute:unread": TABLE}), "UTC")
            new_name = f"attribute:{settings.new_name('unread')}"
            rest = after.known.keys() - {new_name}
            assert rest <= ({"body"} if name == "max_size" else set())  # where it cuts, it goes by all sizes
            assert set(after.begins) <= ({f"unread{settings.separator}"} if name == "flatten" else set())


def test_the_same_is_passed_on_where_only_the_beginning_of_names_is_known():
    kind = load("copy")
    step = Component("copy", settings=settings_of(kind.settings_class(), "{source: p.a, attribute: b}"), where=None)
    after = passed_on(step, Changes(begins={"p.": TABLE}), "UTC")
    assert [name for name in ("a", "b", "p.", "p.a") if after.origin(f"attribute:{name}")] == ["b", "p.", "p.a"]
