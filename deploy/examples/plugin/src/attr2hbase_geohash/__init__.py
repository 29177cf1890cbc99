"""A decorator for attr2hbase that turns a latitude and a longitude into a geohash."""

import math

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option

_DIGITS = b"0123456789bcdefghjkmnpqrstuvwxyz"


class GeohashSettings(Settings):
    """Options of the geohash decorator."""

    latitude: str = option("Attribute with the degrees north.", example="json.lat")
    longitude: str = option("Attribute with the degrees east.", example="json.lon")
    attribute: str = option("Attribute that receives the geohash.", example="cell")
    length: int = option("Letters: 5 for about 5 km, 7 for 150 m, 9 for 5 m.", default=9, ge=1, le=12)


class Geohash(Decorator[GeohashSettings]):
    """
    Set the geohash of a place: the longer the beginning two of them share, the nearer are their places.

    A row key that begins with it lets a scan by prefix find all that lies in a cell of the map.
    """

    kind = "geohash"
    examples = (
        Example(
            "a place",
            settings="{latitude: lat, longitude: lon, attribute: cell, length: 5}",
            attributes={"lat": "42.6", "lon": "-5.6"},
            after={"cell": "ezs42"},
        ),
        Example(
            "no place on earth",
            settings="{latitude: lat, longitude: lon, attribute: cell}",
            attributes={"lat": "142.6", "lon": "-5.6"},
            error="bad_place",
        ),
        Example(
            "no longitude",
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
        # the first bit is the longitude's, so the last one is, too, where their number is odd
        number = _spread(north) << 1 | _spread(east) if bits % 2 else _spread(east) << 1 | _spread(north)
        event.set(settings.attribute, bytes(_DIGITS[number >> shift & 31] for shift in range(bits - 5, -1, -5)))
        return True


def _cell(text: bytes, degrees: int, bits: int) -> int:
    """Which of the 2**bits cells from one end of the scale to the other."""
    try:
        share = float(text) / degrees + 0.5
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise DecorateError(f"{text!r} is no number of degrees within {degrees // 2} of 0", code="bad_place")
    return min(int(share * (1 << bits)), (1 << bits) - 1)


def _spread(number: int) -> int:
    """The same bits with a zero between any two: binary digits, read to the base 4."""
    return int(f"{number:b}", 4)
