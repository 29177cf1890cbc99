"""From the time of an event to its partition."""

from collections.abc import Callable
from typing import NamedTuple

from ingest.api import Event, MappingError
from ingest.formats.times import LAST_MS, moment
from sinks.archive.columns import FIXED_COLUMNS, Row
from sinks.archive.layout import NO_TIME, PartitionRule

_TIME = [column.name for column in FIXED_COLUMNS].index("_time")
_HOUR_MS = 3_600_000
"""Patterns of partitions have nothing shorter than an hour."""
_MOST_HOURS = 10_000
"""Cached folders; a bound, since times come from the data."""
NO_LIMIT_MS = 1 << 62
"""Of events that are late or early."""


class EarlyEventError(MappingError):
    """The time of an event is further after its micro-batch than `early` of the archive."""

    code = "early_event"
    remedy = "Check the clock of the sender; or raise `early` of the sink, then replay the dead letters."


class LateEventError(MappingError):
    """The time of an event is further before its micro-batch than `late` of the archive."""

    code = "late_event"
    remedy = "Raise `late` of the sink, then replay the dead letters; or write the partition again."


class NoEventTimeError(MappingError):
    """An event for an archive has no time after 1970 that names a partition."""

    code = "no_event_time"
    hint = "set the time with the decorator `timestamp`, or set `on_no_time: default_partition`"


class EventTimes(NamedTuple):
    """
    The event times that an archive accepts.

    Attributes:
        late_ms: an event that is older than this before the batch time fails.
        early_ms: an event that is newer than this after the batch time fails.
        keeps_no_time: events without a time go to a partition of their own; else they fail.
    """

    late_ms: int
    early_ms: int
    keeps_no_time: bool


class FoldersByHour:
    """
    The folders of partitions by event time, cached by the hour.

    Args:
        rule: names the partitions.
    """

    def __init__(self, rule: PartitionRule) -> None:
        self._rule = rule
        self._no_time = rule.folder_of(NO_TIME)
        self._folders: dict[int, str] = {}

    def folder_of(self, time_ms: int) -> str:
        """The folder of the partition of a time; that of `NO_TIME` if it is before 1970, or after 9999."""
        if not 0 <= time_ms <= LAST_MS:
            return self._no_time
        hour = time_ms // _HOUR_MS
        folder = self._folders.get(hour)
        if folder is None:
            folder = self._rule.folder_of(self._rule.value_of(time_ms))
            if len(self._folders) >= _MOST_HOURS:
                self._folders.clear()
            self._folders[hour] = folder
        return folder


class EventPartitions:
    """
    The partitions of the events of a micro-batch; `begin` comes first.

    Args:
        rule: names the partitions.
        times: which events fail because of their times.
        row_of: makes the row of an event, and tells its size.
    """

    def __init__(self, rule: PartitionRule, times: EventTimes, row_of: Callable[[Event], tuple[Row, int]]) -> None:
        self._folders = FoldersByHour(rule)
        self._times = times
        self._row_of = row_of
        self._oldest_ms = self._newest_ms = 0

    def begin(self, batch_time_ms: int) -> None:
        """Start a micro-batch."""
        self._oldest_ms = max(0, batch_time_ms - self._times.late_ms)  # before it is no event time
        self._newest_ms = min(LAST_MS, batch_time_ms + self._times.early_ms)  # nor is it after this

    def placed(self, event: Event) -> tuple[str, Row, int]:
        """
        The folder of the partition of an event, its row there, without `_time` if the event has no time, and its size.

        Args:
            event: of the micro-batch.

        Raises:
            MappingError: the archive does not accept the time; or as `row_of`.
        """
        time_ms = event.timestamp_ms
        if self._oldest_ms <= time_ms <= self._newest_ms:
            row, size = self._row_of(event)
            return self._folders.folder_of(time_ms), row, size
        self._refuse_time(time_ms)
        row, size = self._row_of(event)
        return self._folders.folder_of(time_ms), (*row[:_TIME], None, *row[_TIME + 1 :]), size

    def _refuse_time(self, time_ms: int) -> None:
        """Refuse a time that is late or early, and one that names no partition unless the archive has one for it."""
        if not 0 <= time_ms <= LAST_MS:
            if not self._times.keeps_no_time:
                raise NoEventTimeError(f"{time_ms} ms is no event time that names a partition")
            return
        if time_ms < self._oldest_ms:
            raise LateEventError(
                f"the time of the event, {moment(time_ms)}, is before the earliest allowed, {moment(self._oldest_ms)}",
                hint="raise `late` of the sink, then replay the dead letter",
            )
        raise EarlyEventError(
            f"the time of the event, {moment(time_ms)}, is after the latest allowed, {moment(self._newest_ms)}",
            hint="raise `early` of the sink, then replay the dead letter",
        )
