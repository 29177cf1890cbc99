"""Line charts over time as SVG, readable on light and dark pages."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 960, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 56
COLORS = ("#2f6fde", "#d9730d", "#2e9e5b", "#a64dc7", "#c2385b")
GREY = "#808890"
STEPS = 5

Points = Sequence[tuple[float, float]]


def lines(title: str, series: Mapping[str, Points], *, x: str, y: str, marks: Sequence[tuple[float, str]] = ()) -> str:
    """
    A chart of several series.

    Args:
        title: of the chart.
        series: name -> points.
        x: label of the horizontal axis.
        y: label of the vertical axis.
        marks: (x, label) of vertical lines.
    """
    end = max((at for each in series.values() for at, _ in each), default=1.0) or 1.0
    top = _round_up(max((value for each in series.values() for _, value in each), default=1.0))
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" '
    parts = [
        f'{svg}font-size="12" aria-label="{escape(title)}">',
        f'<text x="{LEFT}" y="18" font-size="14" fill="{GREY}">{escape(title)}</text>',
    ]

    def across(at: float) -> float:
        return LEFT + at / end * (WIDTH - LEFT - RIGHT)

    def down(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    for step in range(STEPS + 1):
        value, at = top * step / STEPS, end * step / STEPS
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down(value):.1f}" y2="{down(value):.1f}" stroke="{GREY}" '
            f'stroke-opacity="0.25"/><text x="{LEFT - 6}" y="{down(value) + 4:.1f}" text-anchor="end" '
            f'fill="{GREY}">{value:g}</text><text x="{across(at):.1f}" y="{HEIGHT - BOTTOM + 32}" text-anchor="middle" '
            f'fill="{GREY}">{at:.3g}</text>'
        )
    for at, what in marks:
        parts.append(
            f'<line x1="{across(at):.1f}" x2="{across(at):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM + 4}" stroke="{GREY}" '
            f'stroke-dasharray="2 3"/><text x="{across(at):.1f}" y="{HEIGHT - BOTTOM + 14}" font-size="8" '
            f'text-anchor="middle" fill="{GREY}">{escape(what)}</text>'
        )
    for number, (name, each) in enumerate(series.items()):
        color = COLORS[number % len(COLORS)]
        points = " ".join(f"{across(at):.1f},{down(value):.1f}" for at, value in each)
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{points}"/>')
        legend = WIDTH - RIGHT - 110 * (len(series) - number)
        parts.append(f'<text x="{legend}" y="{TOP - 8}" fill="{color}">{escape(name)}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle" fill="{GREY}">{escape(x)}</text>')
    parts.append(f'<text x="6" y="{TOP - 8}" fill="{GREY}">{escape(y)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _round_up(value: float) -> float:
    """The next number of the form 1, 2 or 5 times a power of ten."""
    unit = 1.0
    while unit * 10 < value:
        unit *= 10
    return next((unit * times for times in (1, 2, 5, 10) if unit * times >= value), value)
