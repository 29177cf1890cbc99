"""Bar and line charts as SVG, in colours for light and dark pages."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, BAR, LEFT, RIGHT = 760, 26, 210, 90
INK, OURS, PEER, RANGE = "#7a828e", "#2f81f7", "#9a9fa8", "#d29922"
_FONT = 'font-family="system-ui, sans-serif" font-size="13"'


def bars(title: str, values: Mapping[str, tuple[float, float, float]], *, ours: Sequence[str], unit: str) -> str:
    """
    A horizontal bar chart.

    Args:
        title: of the chart.
        values: name -> median, lowest, highest.
        ours: names of the highlighted bars.
        unit: of the values.
    """
    most = max(highest for _, _, highest in values.values())
    scale = (WIDTH - LEFT - RIGHT) / most
    parts = []
    for number, (name, (median, lowest, highest)) in enumerate(values.items()):
        y = 44 + number * BAR
        colour = OURS if name in ours else PEER
        parts.append(_text(LEFT - 8, y + 13, name, "end"))
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{median * scale:.1f}" height="{BAR - 8}" rx="2" fill="{colour}"/>'
        )
        middle = y + (BAR - 8) / 2
        parts.append(
            f'<line x1="{LEFT + lowest * scale:.1f}" x2="{LEFT + highest * scale:.1f}" y1="{middle}" y2="{middle}" '
            f'stroke="{RANGE}" stroke-width="2"/>'
        )
        parts.append(_text(LEFT + highest * scale + 6, y + 13, f"{median:,.0f}", "start"))
    height = 44 + len(values) * BAR + 24
    parts.append(_text(LEFT, height - 8, f"{unit}; median, and the range of all runs", "start"))
    return _svg(title, height, parts)


def lines(title: str, series: Mapping[str, Sequence[tuple[float, float]]], *, x: str, y: str) -> str:
    """
    A line chart.

    Args:
        title: of the chart.
        series: name -> points, sorted by x.
        x: label of the horizontal axis.
        y: label of the vertical axis.
    """
    points = [point for curve in series.values() for point in curve]
    right, top = max(a for a, _ in points) or 1.0, max(b for _, b in points) or 1.0
    height, base = 320, 270
    across, up = (WIDTH - 140) / right, (base - 50) / top
    parts = [f'<path d="M70 50 V{base} H{WIDTH - 70}" stroke="{INK}" fill="none"/>']
    parts += [_text(64, 54, f"{top:,.0f}", "end"), _text(64, base, "0", "end")]
    parts += [_text(WIDTH - 70, base + 18, f"{right:,.0f} {x}", "end"), _text(70, base + 36, y, "start")]
    for number, (name, curve) in enumerate(series.items()):
        colour = (OURS, RANGE, PEER)[number % 3]
        path = " ".join(f"{70 + a * across:.1f},{base - b * up:.1f}" for a, b in curve)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(WIDTH - 76, 62 + number * 18, name, "end", colour))
    return _svg(title, height, parts)


def _text(x: float, y: float, content: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" {_FONT}>{escape(content)}</text>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(title)}">'
    )
    shown = f'<text x="12" y="24" fill="{INK}" font-family="system-ui, sans-serif" font-size="15" font-weight="600">'
    return "\n".join([head, f"{shown}{escape(title)}</text>", *parts, "</svg>", ""])
