"""
Draw the hits of each day over the hours of a day, as SVG.

    attr2hbase scan minutes --output json | python chart.py > hits.svg

It reads the rows of the table `minutes`, one JSON object a line.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 56, 44
INK = "#7a828e"
COLOURS = ("#2f81f7", "#d29922", "#2e9e5b")
EVERY = 30  # minutes of one point
HOURS = 24
STEP = 10  # hits between two grid lines


def hits_of(rows: Iterable[str]) -> dict[str, list[int]]:
    """Day -> hits in each half hour, from the rows of the table."""
    days: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (HOURS * 60 // EVERY))
    for line in rows:
        row = json.loads(line)
        day, _, time = row["row"].partition("T")
        hour, minute = map(int, time.split(":"))
        for family, qualifier, _, value in row["cells"]:
            if (family, qualifier) == ("hits", "all"):
                days[day][(hour * 60 + minute) // EVERY] += int(value)
    return dict(sorted(days.items()))


def chart(days: Mapping[str, list[int]]) -> str:
    """A line for each day."""
    top = -(-max(map(max, days.values()), default=1) // STEP) * STEP
    across, up = (WIDTH - LEFT - RIGHT) / HOURS, (HEIGHT - TOP - BOTTOM) / top
    base = HEIGHT - BOTTOM
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" aria-label="Hits of each half hour on three days">'
    )
    parts = [
        head,
        _text(LEFT, 22, f"Hits of each {EVERY} minutes", "start", INK, ' font-size="15" font-weight="600"'),
    ]
    for hits in range(0, top + 1, STEP):
        y = base - hits * up
        parts.append(f'<path d="M{LEFT} {y:.1f} H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity="0.25"/>')
        parts.append(_text(LEFT - 6, y + 4, str(hits), "end"))
    parts += [_text(LEFT + hour * across, base + 18, f"{hour:02}:00", "middle") for hour in range(0, HOURS + 1, 4)]
    for number, (day, hits_of_day) in enumerate(days.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{LEFT + (point + 0.5) * EVERY / 60 * across:.1f},{base - hits * up:.1f}"
            for point, hits in enumerate(hits_of_day)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        legend = f"{day}: {sum(hits_of_day):,}"
        parts.append(_text(WIDTH - RIGHT - 130 * (len(days) - 1 - number), 44, legend, "end", colour))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, content: str, anchor: str, colour: str = INK, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{more}>{content}</text>'


if __name__ == "__main__":
    sys.stdout.write(chart(hits_of(sys.stdin)))
