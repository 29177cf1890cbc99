"""A decorator for attr2hbase that computes the geohash of a latitude and a longitude."""

import math

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option

_DIGITS = b"0123456789bcdefghjkmnpqrstuvwxyz"


class BadPlaceError(DecorateError):
    """A coordinate is not a number, or not within the degrees of its axis."""

    code = "bad_place"
    remedy = (
        "Correct the producer, or give the decorator a `when` that skips such events; then replay the dead letters."
    )


class GeohashSettings(Settings):
    """Options of the geohash decorator."""

    latitude: str = option("Attribute with the latitude in degrees.", example="json.lat")
    longitude: str = option("Attribute with the longitude in degrees.", example="json.lon")
    attribute: str = option("Attribute that receives the geohash.", example="cell")
    length: int = option(
        "Number of characters: 5 for a cell of about 5 km, 7 for 150 m, 9 for 5 m.", default=9, ge=1, le=12
    )


class Geohash(Decorator[GeohashSettings]):
    """
    Set the geohash of a location: the longer the common prefix of two geohashes, the nearer the locations.

    With row keys that start with it, a prefix scan finds all locations in a cell of the map.
    """

    kind = "geohash"
    examples = (
        Example(
            "a location",
            settings="{latitude: lat, longitude: lon, attribute: cell, length: 5}",
            attributes={"lat": "42.6", "lon": "-5.6"},
            after={"cell": "ezs42"},
        ),
        Example(
            "a latitude out of range",
            settings="{latitude: lat, longitude: lon, attribute: cell}",
            attributes={"lat": "142.6", "lon": "-5.6"},
            error="bad_place",
        ),
        Example(
            "an absent longitude",
            settings="{latitude: lat, longitude: lon, attribute: cell}",
            attributes={"lat": "42.6"},
            error="no_attribute",
        ),
    )

    def decorate(self, event: Event) -> bool:
        """Set the attribute."""
        settings = self.settings
        bits = 5 * settings.length
        north = _cell(event.text_of(settings.latitude, "for a latitude"), 180, bits // 2)
        east = _cell(event.text_of(settings.longitude, "for a longitude"), 360, (bits + 1) // 2)
        # bits alternate, starting with the longitude; if their number is odd, the longitude also has the last one
        number = _spread(north) << 1 | _spread(east) if bits % 2 else _spread(east) << 1 | _spread(north)
        event.set(settings.attribute, bytes(_DIGITS[number >> shift & 31] for shift in range(bits - 5, -1, -5)))
        return True


def _cell(text: bytes, degrees: int, bits: int) -> int:
    """The index of the cell among the 2**bits cells of the scale."""
    try:
        position = float(text) / degrees + 0.5
    except ValueError:
        position = math.nan
    if not 0 <= position <= 1:
        raise BadPlaceError(f"{text!r} is not a number of degrees from {-degrees // 2} to {degrees // 2}")
    return min(int(position * (1 << bits)), (1 << bits) - 1)


def _spread(number: int) -> int:
    """Insert a zero between the bits of a number: its binary digits, read in base 4."""
    return int(f"{number:b}", 4)
