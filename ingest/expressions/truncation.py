"""Times down to the begin of their second, quarter of an hour, day, month …, in a zone."""

from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ingest.expressions.dates import datetime_of

Truncate = Callable[[int], int]
"""Milliseconds -> milliseconds; raises ExpressionError for a time outside the calendar."""

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_STEPS_S = {"second": 1, "minute": _MINUTE_S, "hour": _HOUR_S, "day": _DAY_S}
_FILLED = ((1, _MINUTE_S), (_MINUTE_S, _HOUR_S), (_HOUR_S, _DAY_S))
UNITS = (*_STEPS_S, "week", "month", "year")


def truncation(unit: str, zone: ZoneInfo) -> Truncate:
    """To the begin of a unit of `UNITS`; a week begins on Monday."""
    step_s = _STEPS_S.get(unit)
    if step_s is not None:
        return step_truncation(step_s, zone)
    return lambda time_ms: int(_first_day(datetime_of(time_ms, zone), unit).timestamp()) * 1000


def step_truncation(step_s: int, zone: ZoneInfo) -> Truncate:
    """
    To the begin of a step of so many seconds, counted from the hour or, for steps of hours, from midnight in the zone.

    Raises:
        ValueError: the steps do not fill a minute, an hour or a day.
    """
    if step_s <= 0 or not any(step_s % part == 0 and whole % step_s == 0 for part, whole in _FILLED):
        raise ValueError("steps fill a minute, an hour or a day, as those of 10s, 15m and 6h do")

    def within_hour(time_ms: int) -> int:
        # counted back on the clock that never changes: an hour that comes twice keeps its two begins apart
        moment = datetime_of(time_ms, zone)
        return (time_ms // 1000 - (moment.minute * _MINUTE_S + moment.second) % step_s) * 1000

    def hours(time_ms: int) -> int:
        moment = datetime_of(time_ms, zone)
        hour = moment.hour - moment.hour % (step_s // _HOUR_S)
        return int(moment.replace(hour=hour, minute=0, second=0, fold=0).timestamp()) * 1000

    return within_hour if step_s <= _HOUR_S else hours


def _first_day(moment: datetime, unit: str) -> datetime:
    """Midnight, in the moment's zone, of the day its week, month or year begins with."""
    day = moment.replace(hour=0, minute=0, second=0, fold=0)
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case _:
            return day.replace(month=1, day=1)
