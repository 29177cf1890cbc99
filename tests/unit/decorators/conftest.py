"""Fixtures that create decorators from YAML and apply them to an event."""

import pytest

from ingest.testing.events import event_of, settings_of


def make(kind, text, **options):
    return kind(settings_of(kind.settings_class(), text, **options))


@pytest.fixture
def attributes_after():
    """The attributes of an event after a decorator."""

    def attributes_after(kind, text, body=b"", attributes=None, **options):
        event = event_of(body, attributes, **options)
        assert make(kind, text).decorate(event) is True
        return event.attributes

    return attributes_after


@pytest.fixture
def errors_of():
    """Type and location of each error in the options of a decorator."""

    def errors_of(kind, text):
        with pytest.raises(ValueError) as caught:
            make(kind, text)
        return [(error["type"], error["loc"]) for error in caught.value.errors()]

    return errors_of


@pytest.fixture
def refusal_of():
    """Code of the error with which an event fails; checks that the event is unchanged."""

    def refusal_of(kind, text, body=b"", attributes=None, **options):
        event, before = event_of(body, attributes, **options), event_of(body, attributes, **options)
        with pytest.raises(Exception) as caught:
            make(kind, text).decorate(event)
        assert event == before
        return caught.value.code

    return refusal_of
