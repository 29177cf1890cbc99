"""Truncation of times to the start of their second, quarter of an hour, day, month and so on, in a time zone."""

from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ingest.expressions.dates import datetime_of

Truncate = Callable[[int], int]
"""Milliseconds -> milliseconds; raises ExpressionError for a year outside 1 to 9999."""

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_INTERVALS_S = {"second": 1, "minute": _MINUTE_S, "hour": _HOUR_S, "day": _DAY_S}
_DIVIDED = ((1, _MINUTE_S), (_MINUTE_S, _HOUR_S), (_HOUR_S, _DAY_S))
UNITS = (*_INTERVALS_S, "week", "month", "year")


def truncation(unit: str, zone: ZoneInfo) -> Truncate:
    """Truncation to a unit of `UNITS`; a week starts on Monday."""
    interval_s = _INTERVALS_S.get(unit)
    if interval_s is not None:
        return interval_truncation(interval_s, zone)
    return lambda time_ms: int(_first_day(datetime_of(time_ms, zone), unit).timestamp()) * 1000


def interval_truncation(interval_s: int, zone: ZoneInfo) -> Truncate:
    """
    Truncation to intervals of so many seconds, which start at the hour or, for hours, at midnight in the zone.

    Raises:
        ValueError: the interval does not divide a minute, an hour or a day.
    """
    if interval_s <= 0 or not any(interval_s % part == 0 and whole % interval_s == 0 for part, whole in _DIVIDED):
        raise ValueError("the interval must divide a minute, an hour or a day, as 10s, 15m and 6h do")

    def within_hour(time_ms: int) -> int:
        # subtracted in UTC, so that the two passes of an hour that is repeated get different starts
        moment = datetime_of(time_ms, zone)
        return (time_ms // 1000 - (moment.minute * _MINUTE_S + moment.second) % interval_s) * 1000

    def hours(time_ms: int) -> int:
        moment = datetime_of(time_ms, zone)
        hour = moment.hour - moment.hour % (interval_s // _HOUR_S)
        return int(moment.replace(hour=hour, minute=0, second=0, fold=0).timestamp()) * 1000

    return within_hour if interval_s <= _HOUR_S else hours


def _first_day(moment: datetime, unit: str) -> datetime:
    """Midnight, in the moment's zone, of the first day of its week, month or year."""
    day = moment.replace(hour=0, minute=0, second=0, fold=0)
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case _:
            return day.replace(month=1, day=1)
