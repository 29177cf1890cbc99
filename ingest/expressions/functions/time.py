"""
Functions on time. A time is in milliseconds since 1970 UTC; if it is left out, it is the event's timestamp.

Fractions of a millisecond are rounded down, as in all decorators that parse a time.
"""

from collections.abc import Callable
from math import floor
from zoneinfo import ZoneInfo

from ingest.api.event import Event
from ingest.expressions.dates import Format, date_format, datetime_of, seconds_of
from ingest.expressions.functions.function import Function, FunctionExample, Kind, Parameter
from ingest.expressions.nodes import DateLetter, Text
from ingest.expressions.numbers import Number, inverted_text
from ingest.expressions.truncation import UNITS, truncation


def _date(pieces: tuple[Text | DateLetter, ...], zone: ZoneInfo) -> Callable[[Number], bytes]:
    write: Format = date_format(pieces, zone)
    return lambda time: write(floor(time))


def _iso(zone: ZoneInfo) -> Callable[[Number], bytes]:
    def iso(time: Number) -> bytes:
        time_ms = floor(time)
        moment = datetime_of(time_ms, zone)
        text = f"{moment.replace(microsecond=time_ms % 1000 * 1000).isoformat(timespec='milliseconds')}"
        return (text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text).encode("ascii")

    return iso


def _truncate(unit: str, zone: ZoneInfo) -> Callable[[Number], int]:
    truncate = truncation(unit, zone)
    return lambda time: truncate(floor(time))


def _inverted(time: Number) -> bytes:
    return inverted_text(floor(time))


def _event() -> Event:
    return Event(b"", timestamp_ms=1_309_275_728_123)  # 2011-06-28T15:42:08.123Z


_TIME = Parameter("time", Kind.TIME, "the event's timestamp if left out", required=False)
_ZONE = Parameter("zone", Kind.ZONE, "the pipeline's `timezone` if left out", required=False)

FUNCTIONS = (
    Function(
        "date",
        "A time formatted with date letters.",
        _date,
        (_TIME, Parameter("format", Kind.FORMAT, "text with date letters such as %Y"), _ZONE),
        (
            FunctionExample("%{date('%Y-%m-%d')}", "2011-06-28", event=_event),
            FunctionExample("%{date('%Y%m%d%H', 'Asia/Tokyo')}", "2011062900", event=_event),
            FunctionExample("%{date(seen, '%D')}", "01/01/70", {"seen": "0"}),
            FunctionExample("%{date(seen, '%D')}", attributes={"seen": "today"}, error="bad_time"),
        ),
    ),
    Function(
        "iso",
        "A time in ISO 8601 format, with milliseconds.",
        _iso,
        (_TIME, _ZONE),
        (
            FunctionExample("%{iso()}", "2011-06-28T15:42:08.123Z", event=_event),
            FunctionExample("%{iso('Asia/Tokyo')}", "2011-06-29T00:42:08.123+09:00", event=_event),
            FunctionExample("%{iso(0)}", "1970-01-01T00:00:00.000Z"),
        ),
    ),
    Function(
        "epoch_s",
        "A time in whole seconds.",
        lambda: lambda time: seconds_of(floor(time)),
        (_TIME,),
        (
            FunctionExample("%{epoch_s()}", "1309275728", event=_event),
            FunctionExample("%{epoch_s(1999)}", "1"),
        ),
        gives_number=True,
    ),
    Function(
        "truncate_time",
        "A time truncated to the start of its second, minute, hour, day, week (Monday), month or year in a zone.",
        _truncate,
        (_TIME, Parameter("unit", Kind.CHOICE, "unit to truncate to", choices=UNITS), _ZONE),
        (
            FunctionExample("%{truncate_time('hour')}", "1309273200000", event=_event),
            FunctionExample("%{truncate_time('day', 'Asia/Tokyo')}", "1309273200000", event=_event),
            FunctionExample("%{date(truncate_time('month'), '%Y-%m-%d')}", "2011-06-01", event=_event),
            FunctionExample("%{truncate_time(seen, 'second')}", "-1000", {"seen": "-0.5"}),
        ),
        gives_number=True,
    ),
    Function(
        "inverted_time",
        "The largest time minus this one, in 19 digits: the newest row keys sort first.",
        lambda: _inverted,
        (_TIME,),
        (
            FunctionExample("%{inverted_time()}", "9223370727579047684", event=_event),
            FunctionExample("%{inverted_time(0)}", "9223372036854775807"),
            FunctionExample("%{inverted_time(seen)}", attributes={"seen": "-0.5"}, error="negative_number"),
        ),
    ),
)
