"""The figures of the components of a pipeline as a table, for `status --components` and `top`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = ("component", "#received", "#dropped", "#failed", "#events/s", "#failed/s", "#µs", "#time")
"""The last but one is the mean time of a call; the last its part of the time of all components."""

MANY_FAIL = 0.01
"""Fraction of events; the same as in the alert of dead letters."""
IS_SLOW = 0.5
"""Fraction of the time of all components."""
_MILLIONS = 100_000_000
_EXACT = 1_000  # below it a digit after the point is shown


def component_rows(components: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each component of `GET /pipelines`, under `COLUMNS`."""
    return [
        (
            _name(each),
            _number(each["received"]),
            _number(each["dropped"]) if each["dropped"] else "",
            _number(each["failed"]) if each["failed"] else "",
            _number(round(each["rates"]["received_per_s"])),
            _decimal(each["rates"]["failed_per_s"]) if each["rates"]["failed_per_s"] else "",
            "" if each["microseconds"] is None else _decimal(each["microseconds"]),
            "" if each["time_share"] is None else f"{each['time_share']:.0%}",
        )
        for each in components
    ]


def findings(components: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What strikes in the last minute: components in which many events fail, and a decorator that takes most time."""
    for each in components:
        received, failed = each["recent"]["received"], each["recent"]["failed"]
        if received and failed / received >= MANY_FAIL:
            yield f"{_name(each)} fails {failed / received:.1%} of its events"
        if each["type"] == "decorator" and (each["time_share"] or 0) >= IS_SLOW:
            time = f"{each['time_share']:.0%} of the time, {_decimal(each['microseconds'])} µs an event"
            yield f"{_name(each)} takes {time}"


def _number(events: int) -> str:
    """All digits of up to eight; the table fits 80 columns."""
    return f"{events:,}" if events < _MILLIONS else f"{events / 1e6:,.1f}M"


def _decimal(value: float) -> str:
    return f"{value:,.1f}" if value < _EXACT else _number(round(value))


def _name(component: Mapping[str, Any]) -> str:
    """The kind with the label, as `explain` has it; the name alone if there is no label."""
    name, kind = str(component["name"]), str(component["kind"])
    return name if not kind or name.partition("#")[0] == kind else f"{kind} ({name})"
