"""A map of stations and influencers as SVG, readable on light and dark pages."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gapfill.cleaning import Place
from gapfill.influencers import Influencer

WIDTH = 760
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 64, 36
INK = "#7a828e"
MARGIN = 0.4  # degrees around the stations
HIGHEST = 1_400.0  # metres; a station at this altitude has the largest dot
FARTHEST = 2.0  # residual of the darkest point, without its sign
NEAREST_COLOUR, FARTHEST_COLOUR = (240, 180, 60), (200, 30, 40)


@dataclass(frozen=True, slots=True)
class Projection:
    """
    Degrees to pixels: a degree of longitude is as much shorter than one of latitude as it is in the middle of the map.

    Attributes:
        west: longitude of the left edge.
        north: latitude of the upper edge.
        east: longitude of the right edge.
        south: latitude of the lower edge.
    """

    west: float
    north: float
    east: float
    south: float

    @classmethod
    def around(cls, places: Sequence[Place]) -> "Projection":
        """A map with all these places."""
        latitudes = [place.latitude for place in places]
        longitudes = [place.longitude for place in places]
        return cls(min(longitudes) - MARGIN, max(latitudes) + MARGIN, max(longitudes) + MARGIN, min(latitudes) - MARGIN)

    @property
    def height(self) -> float:
        """Of the picture."""
        return TOP + (self.north - self.south) * self._of_latitude + BOTTOM

    def x(self, longitude: float) -> float:
        """Pixels from the left."""
        return LEFT + (longitude - self.west) * self._of_longitude

    def y(self, latitude: float) -> float:
        """Pixels from the top."""
        return TOP + (self.north - latitude) * self._of_latitude

    @property
    def _of_longitude(self) -> float:
        return (WIDTH - LEFT - RIGHT) / (self.east - self.west)

    @property
    def _of_latitude(self) -> float:
        return self._of_longitude / math.cos(math.radians((self.north + self.south) / 2))


def drawn(places: Mapping[str, Place], points: Sequence[Influencer]) -> str:
    """
    The map.

    Args:
        places: of the stations, at least one.
        points: the influencers.
    """
    on = Projection.around(list(places.values()))
    title = f"{len(places)} stations, and {len(points)} points between stations that measure unlike"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {on.height:.0f}" width="{WIDTH}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" aria-label="{title}">'
    )
    lines = [
        head,
        _text(LEFT, 22, title, "start", ' font-size="15" font-weight="600"'),
        *_legend(),
        *_graticule(on),
    ]
    for place in places.values():
        radius = 2 + 4 * min(max(place.altitude / HIGHEST, 0.0), 1.0)
        lines.append(_circle(on.x(place.longitude), on.y(place.latitude), radius, f'fill="{INK}"'))
    # the farthest last, above the others
    for point in reversed(points):
        colour = f'fill="{_colour(point.residual)}" fill-opacity="0.8"'
        lines.append(_circle(on.x(point.longitude), on.y(point.latitude), 7, colour))
    return "\n".join([*lines, "</svg>", ""])


def _legend() -> Iterator[str]:
    yield _circle(LEFT + 5, 41, 4, f'fill="{INK}"')
    yield _text(LEFT + 16, 45, "station; the larger, the higher", "start")
    yield _circle(LEFT + 225, 41, 7, f'fill="{_colour(0.0)}"')
    yield _circle(LEFT + 243, 41, 7, f'fill="{_colour(-FARTHEST)}"')
    yield _text(LEFT + 256, 45, "midpoint of a pair; the redder, the less alike for its distance", "start")


def _graticule(on: Projection) -> Iterator[str]:
    """A line for each whole degree of latitude, and for each second one of longitude."""
    bottom = on.y(on.south)
    for degree in range(math.ceil(on.south), math.floor(on.north) + 1):
        yield f'<path d="M{LEFT} {on.y(degree):.1f} H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity="0.25"/>'
        yield _text(LEFT - 6, on.y(degree) + 4, f"{degree}°", "end")
    for degree in range(math.ceil(on.west), math.floor(on.east) + 1, 2):
        yield f'<path d="M{on.x(degree):.1f} {TOP} V{bottom:.1f}" stroke="{INK}" stroke-opacity="0.25"/>'
        yield _text(on.x(degree), bottom + 18, f"{degree}°", "middle")


def _colour(residual: float) -> str:
    part = min(-residual / FARTHEST, 1.0)
    mixed = (round(one + (other - one) * part) for one, other in zip(NEAREST_COLOUR, FARTHEST_COLOUR, strict=True))
    return "#" + "".join(f"{each:02x}" for each in mixed)


def _circle(x: float, y: float, radius: float, style: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {style}/>'


def _text(x: float, y: float, content: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}"{more}>{content}</text>'
