"""Charts as SVG, readable on light and dark pages."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # to import it takes a second of CPU, and most who import this module draw nothing
    from matplotlib.figure import Figure

WIDTH_IN = 9.0
BAR_IN = 0.36
GREY, OURS, PEER, RANGE = "#808890", "#2f6fde", "#9aa3ad", "#d9730d"
HATCH = "////"

Points = Sequence[tuple[float, float]]
_STYLE = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "attr2hbase",  # the same ids in each drawing
    "font.family": "sans-serif",
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "axes.titlecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "hatch.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Bar(NamedTuple):
    """
    A bar.

    Attributes:
        name: what it is about.
        middle, lowest, highest: median and range.
        is_ours: whether it is attr2hbase.
        loss: what it loses, if it gives a weaker guarantee than the bars without.
    """

    name: str
    middle: float
    lowest: float
    highest: float
    is_ours: bool = False
    loss: str = ""


def bars(title: str, given: Sequence[Bar], *, unit: str) -> str:
    """
    A chart of horizontal bars: those with the same guarantee first, then those that lose events, hatched and labelled.

    Args:
        title: of the chart.
        given: the bars, in their order within these two groups.
        unit: of the values.
    """
    drawn = sorted(given, key=lambda bar: bool(bar.loss))
    with _figure(1.2 + BAR_IN * len(drawn)) as figure:
        axes = figure.subplots()
        for place, bar in enumerate(drawn):
            (patch,) = axes.barh(place, bar.middle, height=0.7, color=OURS if bar.is_ours else PEER)
            if bar.loss:
                patch.set(facecolor="none", edgecolor=PEER, hatch=HATCH)
            axes.plot([bar.lowest, bar.highest], [place, place], color=RANGE, linewidth=2)
            label = f" {bar.middle:,.0f}" + (f" ({bar.loss})" if bar.loss else "")
            axes.text(max(bar.middle, bar.highest), place, label, va="center")
        axes.set_yticks(range(len(drawn)), [bar.name for bar in drawn])
        for label, bar in zip(axes.get_yticklabels(), drawn, strict=True):
            if bar.is_ours:
                label.set(color=OURS, fontweight="bold")
        axes.invert_yaxis()
        axes.margins(x=0.25)  # room for the labels
        axes.set(title=title, xlabel=unit)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        return _svg(figure)


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
    with _figure(4.0) as figure:
        axes = figure.subplots()
        for name, points in series.items():
            axes.plot([at for at, _ in points], [value for _, value in points], label=name, marker=".")
        for at, what in marks:
            axes.axvline(at, color=GREY, linestyle=":", linewidth=1)
            axes.text(at, 0, what, rotation=90, fontsize=7, va="bottom")
        axes.set(title=title, xlabel=x, ylabel=y)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        return _svg(figure)


@contextmanager
def _figure(height_in: float) -> "Iterator[Figure]":
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        yield Figure(figsize=(WIDTH_IN, height_in), layout="constrained")


def _svg(figure: "Figure") -> str:
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + "\n"
