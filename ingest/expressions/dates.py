"""Date formats: event times as text, always in English, in a named time zone."""

import math
import re
import zoneinfo
from collections.abc import Callable, Sequence
from datetime import datetime

from ingest.api.errors import ExpressionError
from ingest.api.event_errors import BadTimeError
from ingest.api.notation import name_to_bytes, shown_start
from ingest.expressions.grammar import DATE_LETTERS, ExpressionSyntaxError, quoted, suggestion
from ingest.expressions.nodes import DateLetter, Text
from ingest.expressions.numbers import read_number
from ingest.formats.date_letters import CALENDAR, JAVA_WRITTEN, WRITTEN

Format = Callable[[int], bytes]
"""Milliseconds -> text."""

DATE_DOCS: dict[str, str] = {letter: each.doc for letter, each in WRITTEN.items()}
"""Date letter -> documentation of its output."""

_MINUTE_MS = 60_000
_SECOND_MS = 1_000
_USUAL_DIGITS = 15  # digits of milliseconds until the year 9999
_SHORT_ZONE = re.compile("[A-Z]{3,5}")
# Since 1973 all zones change their offset at whole UTC minutes (the last exception was Liberia in 1972), so text
# without seconds is constant for a UTC minute.
_WHOLE_MINUTES_MS = 94_694_400_000


class TimeOutOfRangeError(ExpressionError):
    """The year of the time is outside 1 to 9999."""

    code = "time_out_of_range"
    remedy = "Correct the unit of the time, or guard with `when`."


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """
    The time zone of a name such as `Europe/Berlin`.

    Raises:
        ValueError: there is no such zone.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        # no suggestion for abbreviations such as CEST: a similar name is a different zone
        near = "" if _SHORT_ZONE.fullmatch(name) else suggestion(name, zoneinfo.available_timezones())
        raise ValueError(f'"{name}" is not a time zone{near or "; write one such as UTC or Europe/Berlin"}') from error


def datetime_of(time_ms: int, zone: zoneinfo.ZoneInfo) -> datetime:
    """
    Calendar time, cut to seconds.

    Raises:
        ExpressionError: the year is outside 1 to 9999.
    """
    try:
        return datetime.fromtimestamp(time_ms // _SECOND_MS, zone)
    except (OverflowError, ValueError, OSError) as error:
        raise TimeOutOfRangeError(f"the time {time_ms} ms is outside the calendar (years 1 to 9999)") from error


def read_time(text: bytes) -> int:
    """
    Parse a number of milliseconds since 1970; fractions are rounded down.

    Raises:
        DecorateError: the text is not a number.
    """
    if text.isdigit() and len(text) <= _USUAL_DIGITS:
        return int(text)
    number = read_number(text)
    if number is None:
        raise BadTimeError(f"{shown_start(text)} is not a time in milliseconds")
    return math.floor(number)


def seconds_of(time_ms: int) -> int:
    """Whole seconds since 1970; cut towards zero, as Flume does."""
    return time_ms // _SECOND_MS if time_ms >= 0 else -(-time_ms // _SECOND_MS)


def date_pieces(nodes: Sequence[object], text: str) -> tuple[Text | DateLetter, ...]:
    """
    The nodes of a date format, checked to be only text and date letters.

    Raises:
        ExpressionSyntaxError: it contains a tag.
    """
    pieces = []
    for node in nodes:
        if not isinstance(node, Text | DateLetter):
            column = getattr(node, "column", 1)
            raise ExpressionSyntaxError(
                f"a date format can contain only text and date letters (%{DATE_LETTERS[0]} …)", column, text
            )
        pieces.append(node)
    return tuple(pieces)


def letters_for(text: str) -> str:
    """A hint for a format without date letters; a format of Java is translated."""
    words = set(re.findall("[A-Za-z]+", text))
    if words and words <= JAVA_WRITTEN.keys():
        ours = re.sub("[A-Za-z]+", lambda word: JAVA_WRITTEN[word[0]], text)
        return f"write {quoted(ours)} instead of Java's letters"
    return "a date letter needs a percent sign, as in '%Y-%m-%d'"


def date_format(pieces: Sequence[Text | DateLetter], zone: zoneinfo.ZoneInfo) -> Format:
    """A function that formats a time; it caches only its last result."""
    groups: list[Format] = []
    run: list[Text | DateLetter] = []
    for piece in pieces:
        if isinstance(piece, DateLetter) and piece.letter in "st":
            if run:
                groups.append(_calendar(run, zone))
                run = []
            groups.append(_seconds if piece.letter == "s" else _millis)
        else:
            run.append(piece)
    if run:
        groups.append(_calendar(run, zone))
    if len(groups) == 1:
        return groups[0]
    return lambda time_ms: b"".join([group(time_ms) for group in groups])


def _seconds(time_ms: int) -> bytes:
    return b"%d" % seconds_of(time_ms)


def _millis(time_ms: int) -> bytes:
    return b"%d" % time_ms


def _calendar(pieces: Sequence[Text | DateLetter], zone: zoneinfo.ZoneInfo) -> Format:
    letters = [piece.letter for piece in pieces if isinstance(piece, DateLetter)]
    pattern = b"".join(
        b"%b" if isinstance(piece, DateLetter) else name_to_bytes(piece.text).replace(b"%", b"%%") for piece in pieces
    )
    if not letters:
        constant = pattern.replace(b"%%", b"%")
        return lambda _time_ms: constant
    parts = [CALENDAR[letter] for letter in letters]

    def write(time_ms: int) -> bytes:
        time = datetime_of(time_ms, zone)
        return pattern % tuple([part(time) for part in parts])

    shows_seconds = any(letter in "Sc" for letter in letters)
    unit_ms = _SECOND_MS if shows_seconds else _MINUTE_MS
    last: tuple[int | None, bytes] = (None, b"")

    def cached(time_ms: int) -> bytes:
        nonlocal last
        unit = time_ms // unit_ms
        known, text = last  # one tuple, so that a thread never sees the unit of one result with the text of another
        if unit == known:
            return text
        text = write(time_ms)
        if time_ms >= _WHOLE_MINUTES_MS:
            last = (unit, text)
        return text

    return cached
