"""The options of all built-in decorators use the same names for the same things: docs/adr/0025."""

from enum import StrEnum
from importlib import import_module
from itertools import repeat
from typing import get_args

import pytest

from decorators import BUILTIN
from ingest.api import EventError, Model
from ingest.decorating import choices as shared_choices
from ingest.expressions import Template
from ingest.testing.events import event_of, fields_of, files_of, settings_of
from ingest.testing.splits import outcomes_of_split
from tests.support.reads import Reads

SHARED_NAMES = {
    "delimiter": "separator",
    "joiner": "separator",
    "first_line": "first_line_attribute",
    "keys": "only",
    "most": "max_places",
    "on_unparsed": "on_invalid",
    "on_delimiter": "on_separator",
    "rest": "rest_attribute",
    "window": "max_values",
}
WORDS = frozenset({"error", "drop", "keep", "unset", "empty"})
FURTHER_WORDS = {
    "on_absent": {"default"},
    "on_bad_line": {"skip"},
    "on_bare": {"true", "skip"},
    "on_count": {"fit"},
    "on_error": {"dead_letter", "stop"},
    "on_invalid": {"replace"},
    "on_larger": {"cut"},
    "on_missing": {"skip"},
    "on_repeated": {"first", "last", "join"},
}
FOR_UNREADABLE_SOURCES = ("on_invalid", "on_no_match", "on_not_found")
"""Options that also apply to a missing source: the first of these that a decorator has."""
AS_IN_FLUME = frozenset({"ex_date"})
"""Decorators that fail events without the source, whatever the option says, as in Flume."""


def kind_of(name):
    module, kind = BUILTIN[name].split(":")
    return getattr(import_module(module), kind)


def options_of(name):
    return kind_of(name).settings_class().model_fields


def types_of_choices(field):
    kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
    return [kind for kind in kinds if issubclass(kind, StrEnum)]


def choices_of(field):
    return {choice for kind in types_of_choices(field) for choice in kind}


CASES = [
    (name, option, choices)
    for name in BUILTIN
    for option, field in options_of(name).items()
    if option.startswith("on_") and (choices := choices_of(field))
]
WITHOUT_ON_MISSING = [name for name in BUILTIN if "source" in options_of(name) and "on_missing" not in options_of(name)]


def has_template(annotation):
    """Whether options of this type hold templates, at whatever depth."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return any(has_template(field.annotation) for field in annotation.model_fields.values())
    return annotation is Template or any(has_template(each) for each in get_args(annotation))


WITH_ZONES = {"timestamp"}
"""Their template names a time zone, which only some texts need: `on_invalid` decides, as for text that is no time."""
WITH_MESSAGES = {"fail"}
"""Their template is the message of an error: the event fails anyway, and an absent attribute is empty text."""
WITH_TEMPLATES = [
    name for name in BUILTIN if name not in WITH_ZONES | WITH_MESSAGES and has_template(kind_of(name).settings_class())
]


@pytest.mark.parametrize("name", BUILTIN)
def test_options_have_the_shared_names(name):
    assert {option: SHARED_NAMES[option] for option in options_of(name) if option in SHARED_NAMES} == {}


@pytest.mark.parametrize(("name", "option", "choices"), CASES)
def test_choices_have_the_shared_words(name, option, choices):
    assert choices - WORDS - FURTHER_WORDS.get(option, set()) == set()
    assert option not in FOR_UNREADABLE_SOURCES or choices >= {"error", "keep"}


def test_no_other_choices_have_the_name_of_shared_ones():
    types = {kind for name in BUILTIN for field in options_of(name).values() for kind in types_of_choices(field)}
    shared = {name: kind for name, kind in vars(shared_choices).items() if isinstance(kind, type)}
    assert {kind for kind in types if shared.get(kind.__name__, kind) is not kind} == set()


@pytest.mark.parametrize("name", WITHOUT_ON_MISSING)
def test_event_without_the_source(name):
    """It fails, unless an option for unreadable sources decides otherwise."""
    options = options_of(name)
    option = next((option for option in FOR_UNREADABLE_SOURCES if option in options), None)
    expected_by_choice = {"error": "no_attribute", "keep": [fields_of(event_of("x"))], "drop": []}
    if option is None:
        assert without_source(name) == expected_by_choice["error"]
        return
    for choice in choices_of(options[option]):
        if choice in expected_by_choice:
            expected = expected_by_choice["error" if name in AS_IN_FLUME else choice]
            assert without_source(name, **{option: choice}) == expected, choice


@pytest.mark.parametrize("name", WITH_TEMPLATES)
def test_missing_attribute_of_a_template(name):
    """Every decorator with a template has `on_missing` and applies it."""
    expected_by_choice = {"error": "no_attribute", "unset": [fields_of(event_of("x"))], "drop": []}
    expected_by_choice["keep"] = expected_by_choice["unset"]
    choices = choices_of(options_of(name)["on_missing"])
    assert "error" in choices
    kind = kind_of(name)
    settings = example_with(repeat("%{not_there}"), kind)
    for choice in choices:
        found = outcome(kind, settings.model_copy(update={"on_missing": choice}))
        assert found != "no_attribute" if choice == "empty" else found == expected_by_choice[choice], choice


@pytest.mark.parametrize("name", WITH_TEMPLATES)
def test_template_is_rendered_once(name):
    """A template reads an attribute once for each event, whatever `on_missing` says."""
    kind = kind_of(name)
    for choice in choices_of(options_of(name)["on_missing"]):
        names = [f"there_{number}" for number in range(9)]
        settings = example_with(map("%{{length({})}}".format, names), kind)
        event = event_of("x")
        event.attributes = Reads(dict.fromkeys(names, b"7"))
        kind(settings.model_copy(update={"on_missing": choice})).decorate(event)
        read = {event.attributes.of[each] for each in names}
        assert read == {0, 1}, choice


def example_with(texts, kind):
    """The options of the first example that has templates, with these templates instead."""
    given = [settings_of(kind.settings_class(), example.settings) for example in kind.examples]
    changed = ((each, with_templates(each, lambda: Template.parse(next(texts)))) for each in given)
    return next(after for before, after in changed if after != before)


def with_templates(value, template):
    """The same options with other templates."""
    match value:
        case Template():
            return template()
        case Model():
            changed = {name: with_templates(getattr(value, name), template) for name in type(value).model_fields}
            return value.model_copy(update=changed)
        case dict():
            return {name: with_templates(each, template) for name, each in value.items()}
        case list():
            return [with_templates(each, template) for each in value]
        case _:
            return value


def without_source(name, **options):
    """The outcome of an event that lacks the source: an error code, or the output events."""
    kind = kind_of(name)
    with files_of(kind.examples):
        settings = settings_of(kind.settings_class(), kind.examples[0].settings)
        return outcome(kind, settings.model_copy(update={"source": "not_there", **options}))


def outcome(kind, settings):
    """The outcome of an event: an error code, or the output events."""
    (found,) = outcomes_of_split(kind(settings), [event_of("x")])
    return found.code if isinstance(found, EventError) else [fields_of(event) for event in found]
