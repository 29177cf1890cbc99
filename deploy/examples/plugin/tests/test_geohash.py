"""The geohash decorator: the contract of all decorators, and known geohashes."""

import pytest
from attr2hbase_geohash import Geohash, GeohashSettings

from ingest.api import DecorateError
from ingest.testing.decorators import DecoratorContract
from ingest.testing.events import event_of, settings_of

OPTIONS = "{latitude: lat, longitude: lon, attribute: cell, length: %d}"


class TestContract(DecoratorContract):
    decorator = Geohash


def geohash(latitude, longitude, length):
    event = event_of(attributes={"lat": latitude, "lon": longitude})
    Geohash(settings_of(GeohashSettings, OPTIONS % length)).decorate(event)
    return event.attributes["cell"]


@pytest.mark.parametrize(
    ("latitude", "longitude", "expected"),
    [
        ("57.64911", "10.40744", b"u4pruydqqvj"),
        ("-25.382708", "-49.265506", b"6gkzwgjzn820"),
        ("0", "0", b"s00000000000"),
        ("90", "180", b"zzzzzzzzzzzz"),
        ("-90", "-180", b"000000000000"),
    ],
)
def test_known_locations(latitude, longitude, expected):
    assert geohash(latitude, longitude, len(expected)) == expected


@pytest.mark.parametrize("length", range(1, 12))
def test_shorter_geohash_is_a_prefix_of_a_longer_one(length):
    assert geohash("57.64911", "10.40744", 12).startswith(geohash("57.64911", "10.40744", length))


@pytest.mark.parametrize(("latitude", "longitude"), [("90.1", "0"), ("0", "-180.1"), ("nan", "0"), ("north", "0")])
def test_invalid_location_fails(latitude, longitude):
    with pytest.raises(DecorateError, match="is not a number of degrees"):
        geohash(latitude, longitude, 9)
