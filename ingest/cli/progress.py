"""Progress on a terminal while pipelines run, and the counts at the end."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from ingest.amounts import counts_of
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.service.observer import Totals

_HEADER = (
    "pipeline",
    "#events",
    "#stored",
    "#dropped",
    "#dead-lettered",
    "#rows sent",
    "#cells",
    "#seconds",
    "#events/s",
)


class RunProgress:
    """
    Shows the number of acknowledged events while pipelines run; thread-safe.

    Args:
        is_shown: show progress, if stderr is a terminal.
    """

    def __init__(self, out: Output, pipelines: Sequence[str], *, is_shown: bool) -> None:
        self._out = out
        self._is_shown = is_shown
        self._read = dict.fromkeys(pipelines, 0)
        self._lock = threading.Lock()
        self._opened = ExitStack()
        self._advance: Callable[[int], None] = lambda _events: None

    def __enter__(self) -> Self:
        if self._is_shown:
            self._advance = self._opened.enter_context(self._out.progress("events", total=None))
        return self

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()

    def __call__(self, pipeline: str, totals: "Totals") -> None:
        """Record the totals of a pipeline."""
        with self._lock:
            self._read[pipeline] = totals.counts.read
            self._advance(sum(self._read.values()))


def show_totals(out: Output, totals: "Mapping[str, Totals]") -> None:
    """Print the acknowledged counts; read = stored + dropped + dead-lettered."""
    if out.is_json:
        out.json({name: _plain(each) for name, each in totals.items()})
        return
    out.table(_HEADER, [_row(name, each) for name, each in totals.items()])
    for name, each in totals.items():
        reasons = (("dropped", each.counts.dropped), ("dead-lettered", each.counts.dead_lettered))
        for what, counts in reasons:
            if counts:
                out.line(f"{name}: {what}: {counts_of(counts)}")


def _row(name: str, totals: "Totals") -> tuple[str, ...]:
    counts = totals.counts
    numbers = (
        counts.read,
        counts.stored,
        counts.dropped.total(),
        counts.dead_lettered.total(),
        counts.rows_sent,
        counts.cells,
    )
    rate = f"{counts.read / totals.seconds:,.0f}" if totals.seconds else "-"
    return (name, *(f"{number:,}" for number in numbers), f"{totals.seconds:.1f}", rate)


def _plain(totals: "Totals") -> dict[str, object]:
    counts = totals.counts
    return {
        "read": counts.read,
        "stored": counts.stored,
        "dropped": dict(counts.dropped),
        "dead_lettered": dict(counts.dead_lettered),
        "rows_sent": counts.rows_sent,
        "cells": counts.cells,
        "batches": totals.batches,
        "seconds": round(totals.seconds, 3),
    }
