"""The geoip decorator, with generated databases."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators import geoip
from decorators.geoip import Geoip, GeoipSettings
from ingest.api import DecorateError
from ingest.api.files import ReferenceFileError
from ingest.testing.events import event_of
from tests.support.memos import memo_of
from tests.support.mmdb import database

LONDON = {
    "city": {"names": {"en": "London", "ru": "Лондон"}},
    "country": {"iso_code": "GB", "is_in_european_union": False},
    "location": {"latitude": 51.5, "accuracy_radius": 100, "offset": -3},
    "subdivisions": [{"iso_code": "ENG"}, {"iso_code": "LND"}],
    "raw": b"\xff\x00",
    "large": 2**60,
    "empty": "",
}
NETWORKS = {"81.2.69.0/24": LONDON, "2001:db8:1::/48": {"country": {"iso_code": "DE"}}, "10.0.0.0/8": {}}


def make(path, **options):
    options.setdefault("fields", {"country.iso_code": "c"})
    return Geoip(GeoipSettings(path=str(path), **options))


def write(path, content, *, age_s=60.0):
    """Write to a temporary file and rename it, as update tools do."""
    new = path.with_name("new")
    new.write_bytes(content)
    past = new.stat().st_mtime - age_s
    os.utime(new, (past, past))
    new.rename(path)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("geoip") / "x.mmdb"
    write(path, database(NETWORKS))
    return path


def after(decorator, body, **options):
    event = event_of(body, **options)
    assert decorator.decorate(event) is True
    return event.attributes


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("country.iso_code", b"GB"),
        ("city.names.ru", "Лондон".encode()),
        ("country.is_in_european_union", b"false"),
        ("location.latitude", b"51.5"),
        ("location.accuracy_radius", b"100"),
        ("location.offset", b"-3"),
        ("large", b"1152921504606846976"),
        ("subdivisions.1.iso_code", b"LND"),
        ("subdivisions.2.iso_code", None),
        ("subdivisions.x", None),
        ("city.names.en.more", None),
        ("nothing", None),
        ("empty", b""),
        ("raw", b"\xff\x00"),
        ("city", '{"names":{"en":"London","ru":"Лондон"}}'.encode()),
        ("subdivisions", b'[{"iso_code":"ENG"},{"iso_code":"LND"}]'),
    ],
)
def test_field_of_each_type_becomes_text(path, field, expected):
    assert after(make(path, fields={field: "x"}), "81.2.69.160").get("x") == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("81.2.69.0", {"c": b"GB"}),
        ("81.2.70.0", {}),
        ("::ffff:81.2.69.1", {"c": b"GB"}),
        ("2001:DB8:1::9", {"c": b"DE"}),
        ("2001:db8:2::9", {}),
        ("10.0.0.1", {}),
    ],
)
def test_address_is_found_by_its_network(path, address, expected):
    decorator = make(path)
    assert after(decorator, address) == after(decorator, address) == expected


@given(st.ip_addresses(v=4))
def test_any_address_is_found(path, address):
    decorator = make(path, fields={"country.iso_code": "c"})
    expected = {"c": b"GB"} if str(address).startswith("81.2.69.") else {}
    assert after(decorator, str(address)) == expected


def test_address_not_in_the_database(path):
    event = event_of("8.8.8.8")
    assert make(path, on_not_found="drop").decorate(event) is False
    assert make(path, on_not_found="drop").drop_reason == "no_entry"
    with pytest.raises(DecorateError) as caught:
        make(path, on_not_found="error").decorate(event)
    assert (caught.value.code, event.attributes) == ("no_entry", {})


def test_entry_without_the_field_is_found(path):
    assert after(make(path, on_not_found="error"), "10.0.0.1") == {}


@pytest.mark.parametrize(("source", "code"), [(None, "bad_address"), ("a", "no_attribute")])
def test_not_an_address(path, source, code):
    with pytest.raises(DecorateError) as caught:
        make(path, source=source).decorate(event_of("x"))
    assert caught.value.code == code
    assert after(make(path, source=source, on_invalid="keep"), "x") == {}


def test_cached_addresses_are_bounded(path, monkeypatch):
    monkeypatch.setattr(geoip, "_MAX_ADDRESSES", 4)
    decorator = make(path)
    for number in range(10):
        assert after(decorator, f"81.2.69.{number}") == {"c": b"GB"}
    assert len(memo_of(decorator).known) <= 4


def test_changed_database_is_read_at_the_start_of_a_split(tmp_path):
    path = tmp_path / "x.mmdb"
    write(path, database({"81.0.0.0/8": {"country": {"iso_code": "GB"}}}))
    decorator = make(path)
    assert after(decorator, "81.0.0.1") == {"c": b"GB"}
    write(path, database({"81.0.0.0/8": {"country": {"iso_code": "FR"}}}))
    assert after(decorator, "81.0.0.1") == {"c": b"GB"}
    decorator.split_start()
    assert after(decorator, "81.0.0.1") == {"c": b"FR"}


def test_overwritten_file_has_no_effect_before_the_next_split(tmp_path):
    path = tmp_path / "x.mmdb"
    write(path, database(NETWORKS))
    decorator = make(path)
    path.write_bytes(b"")
    assert after(decorator, "81.2.69.1") == {"c": b"GB"}


def test_broken_database_fails_the_split_and_no_event(tmp_path):
    path = tmp_path / "x.mmdb"
    write(path, database(NETWORKS))
    decorator = make(path)
    write(path, database(NETWORKS)[:-30])
    with pytest.raises(ReferenceFileError, match="not a MaxMind database, or truncated"):
        decorator.split_start()
    assert after(decorator, "81.2.69.1") == {"c": b"GB"}


def test_broken_database_entry_fails_the_event(tmp_path):
    path = tmp_path / "x.mmdb"
    content = database({"81.0.0.0/8": {"country": {"iso_code": "GB"}}}, ip_version=4)
    write(path, content.replace(b"\xe1Gcountry", b"\xe1\x00\xf8country"))
    with pytest.raises(DecorateError) as caught:
        make(path).decorate(event_of("81.0.0.1"))
    assert caught.value.code == "bad_database"


@pytest.mark.parametrize("content", [b"", b"no database", database(NETWORKS)[:-10], database(NETWORKS)[:40]])
def test_invalid_database_is_rejected_at_its_option(tmp_path, content, errors_of):
    path = tmp_path / "x.mmdb"
    path.write_bytes(content)
    assert errors_of(Geoip, f"{{path: '{path}', fields: {{a: a}}}}") == [("unknown_reference", ())]
    assert errors_of(Geoip, f"{{path: '{path}-', fields: {{a: a}}}}") == [("unknown_reference", ())]
    assert errors_of(Geoip, f"{{path: '{tmp_path}', fields: {{a: a}}}}") == [("unknown_reference", ())]


def test_existing_attribute_fails_if_written_once(path):
    event = event_of("81.2.69.1", {"c": ""}, write_once=True)
    with pytest.raises(DecorateError) as caught:
        make(path).decorate(event)
    assert caught.value.code == "attribute_exists"


def test_database_of_the_examples_is_as_described():
    london = {
        "country": {"iso_code": "GB", "is_in_european_union": False},
        "city": {"names": {"en": "London"}},
        "location": {"latitude": 51.5},
    }
    assert {"cities.mmdb": database({"81.0.0.0/8": london}, ip_version=4)} == geoip._FILES
