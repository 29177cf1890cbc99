"""The uuid decorator."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.uuid import Uuid, UuidSettings
from ingest.api import Origin
from ingest.expressions import Template
from ingest.testing.events import event_of, settings_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def id_of(settings, event):
    Uuid(settings_of(UuidSettings, settings)).decorate(event)
    return event.attributes["id"].decode()


ORIGINS = st.builds(Origin, TEXT, st.integers(0, 99), st.integers(0, 2**63), st.integers(0, 3))


@given(ORIGINS)
def test_id_of_an_origin_equals_the_function(origin):
    event = event_of(origin=origin)
    assert id_of("{attribute: id}", event).encode() == Template.parse("%{uuid()}").render(event)


@given(ORIGINS, ORIGINS)
def test_origins_have_different_ids(first, second):
    ids = [id_of("{attribute: id}", event_of(origin=origin)) for origin in (first, second)]
    assert (ids[0] == ids[1]) is (first == second)


@given(
    TEXT,
    st.sampled_from(
        [
            ("dns", uuid.NAMESPACE_DNS),
            ("url", uuid.NAMESPACE_URL),
            ("oid", uuid.NAMESPACE_OID),
            ("x500", uuid.NAMESPACE_X500),
        ]
    ),
)
def test_id_of_a_value_equals_the_library(value, namespace):
    name, known = namespace
    event = event_of(attributes={"a": value})
    made = id_of(f"{{attribute: id, value: '%{{a}}', namespace: {name}}}", event)
    assert made == str(uuid.uuid5(known, value))
    assert (uuid.UUID(made).version, uuid.UUID(made).variant) == (5, uuid.RFC_4122)


@given(st.uuids(), ORIGINS)
def test_any_uuid_may_be_a_namespace(namespace, origin):
    topic, partition, offset, fan_out = origin
    name = f"{topic}:{partition}:{offset}" + (f":{fan_out}" if fan_out else "")
    made = id_of(f"{{attribute: id, namespace: '{namespace}'}}", event_of(origin=origin))
    assert made == str(uuid.uuid5(namespace, name))


def test_bytes_that_are_not_utf_8():
    event = event_of(b"\xff\x00")
    assert id_of("{attribute: id, value: '%{body}'}", event) != id_of(
        "{attribute: id, value: '%{body}'}", event_of(b"")
    )


def test_id_of_a_value_differs_from_ids_of_origins():
    event = event_of("t:0:7", origin=Origin("t", 0, 7))
    assert id_of("{attribute: id}", event) != id_of("{attribute: id, value: '%{body}'}", event)


def test_absent_attribute_follows_on_missing(refusal_of, attributes_after):
    assert refusal_of(Uuid, "{attribute: id, value: '%{a}'}") == "no_attribute"
    assert attributes_after(Uuid, "{attribute: id, value: '%{a}', on_missing: unset}") == {}
    empty = attributes_after(Uuid, "{attribute: id, value: '%{a}', on_missing: empty, namespace: dns}")
    assert empty["id"].decode() == str(uuid.uuid5(uuid.NAMESPACE_DNS, ""))


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Uuid, "{attribute: id}", b"", {"id": ""}, write_once=True) == "attribute_exists"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ("attribute",))]),
        ("{attribute: id, namespace: web}", [("wrong_type", ("namespace",))]),
        ("{attribute: id, value: '%{a'}", [("bad_expression", ("value",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Uuid, settings) == expected
