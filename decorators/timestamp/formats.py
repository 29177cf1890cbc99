"""Formats of times: names, directives of strptime and patterns of Joda-Time, by which text becomes milliseconds."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from pydantic_core import PydanticCustomError

from ingest.expressions.texts import bytes_of, characters_of
from ingest.formats import byte_order_marks
from ingest.formats.date_letters import BLANKS, READ
from ingest.formats.joda import JodaPattern
from ingest.formats.times import (
    FIRST_MS,
    LAST_MS,
    MONTH_NUMBERS,
    in_nearest_year,
    milliseconds_at,
    milliseconds_of,
    offset_of,
)
from ingest.suggest import did_you_mean

JODA = "joda:"
"""What a pattern of Joda-Time begins with."""
_FINE = frozenset({"epoch_ms", "epoch_us", "epoch_ns"})
_NOON = 12
_EPOCHS = {"epoch_s": (1_000, 1), "epoch_ms": (1, 1), "epoch_us": (1, 1_000), "epoch_ns": (1, 1_000_000)}
_EPOCH = re.compile(rb"(-?\d{1,20})(?:\.(\d{1,18}))?(?:[eE]([+-]?\d{1,2}))?")  # JSON may have an exponent
ISO_NAMES = frozenset({"iso8601", "rfc3339"})
_APACHE = "%d/%b/%Y:%H:%M:%S %z"
_FIRST_SHORT_YEAR = 69  # POSIX: 69 to 99 mean 1969 to 1999
_USUAL_ISO = re.compile(rb"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{3,6})?(?:Z|[+-]\d\d:[0-5]\d)?")
_ISO = re.compile(
    rb"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:[Tt ](?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9})\d*)?)?"
    rb" ?(?P<z>[Zz]|[+-]\d\d(?::?\d\d)?)?)?"
)
_SPACE = re.compile(r"\s")

Parse = Callable[[bytes, int], int | None]
"""Milliseconds of a text, for an event of this time; None if it does not have the format."""


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """
    A format of a time.

    Attributes:
        parser: a function that parses it, in a time zone.
        has_milliseconds: whether it has them.
        depends_on_event: whether the time of a text depends on that of its event, since the text may lack its century
            or its year.
    """

    parser: Callable[[tzinfo], Parse]
    has_milliseconds: bool
    depends_on_event: bool


def time_format(text: str) -> TimeFormat:
    """
    The format of a name, a pattern of Joda-Time, or directives.

    Raises:
        PydanticCustomError: there is no such format.
    """
    if text in _EPOCHS:
        parse_epoch = _epoch_parser(*_EPOCHS[text])
        return TimeFormat(lambda _zone: parse_epoch, text in _FINE, depends_on_event=False)
    if text in ISO_NAMES:
        return TimeFormat(_iso_parser, has_milliseconds=False, depends_on_event=False)
    if text.startswith(JODA):
        joda = JodaPattern(text.removeprefix(JODA))
        return TimeFormat(
            lambda zone: (
                lambda data, near_ms: joda.milliseconds(data.removeprefix(byte_order_marks.UTF8), zone, near_ms)
            ),
            joda.has_milliseconds,
            joda.has_short_year,
        )
    letters = _APACHE if text == "apache" else text
    if "%" not in letters:
        known = (*sorted(ISO_NAMES), "apache", *_EPOCHS)
        hint = did_you_mean(text, known) or (
            f"write directives such as %Y-%m-%d, a pattern of Joda-Time as {JODA}PATTERN, or one of {', '.join(known)}"
        )
        raise PydanticCustomError("bad_pattern", '"{text}" is not a time format', {"text": text, "hint": hint})
    pattern = _compiled(letters)
    has_milliseconds = any(letter in letters.replace("%%", "") for letter in ("%f", "%L"))
    return TimeFormat(
        lambda zone: _date_parser(pattern, zone), has_milliseconds, not {"Y", "y"} & set(pattern.groupindex)
    )


def _compiled(letters: str) -> re.Pattern[bytes]:
    pieces = []
    seen: set[str] = set()
    for piece in re.findall(r"%.?|[^%\s]+|\s+", letters, re.DOTALL):
        if piece[0] != "%":
            pieces.append(BLANKS if piece.isspace() else re.escape(piece))
            continue
        directive = READ.get(piece[1:])
        if directive is None:
            raise PydanticCustomError(
                "bad_pattern", '"{piece}" in "{text}" is not a directive', {"piece": piece, "text": letters}
            )
        names = set(re.findall(r"\?P<(\w)>", directive))
        if names & seen:
            raise PydanticCustomError("bad_pattern", '"{text}" has a part twice', {"text": letters})
        seen |= names
        pieces.append(directive)
    if not ("d" in seen and {"m", "b"} & seen) and not ("j" in seen and {"Y", "y"} & seen):
        raise PydanticCustomError(
            "bad_pattern",
            '"{text}" is not a complete date: it needs month and day, or year and day of the year',
            {"text": letters},
        )
    # neighbours that both match white space would take quadratic time
    merged = [piece for at, piece in enumerate(pieces) if pieces[at - 1 : at] != [piece] or piece != BLANKS]
    return re.compile("".join(merged).encode())


def _iso_parser(zone: tzinfo) -> Parse:
    """Uses Python's parser for the usual formats, which is five times as fast, and a regular expression for others."""
    parse_slowly = _date_parser(_ISO, zone)

    def parse(text: bytes, near_ms: int) -> int | None:
        if _USUAL_ISO.fullmatch(text) is None:
            return parse_slowly(text, near_ms)
        try:
            time = datetime.fromisoformat(text.decode())
        except ValueError:
            return parse_slowly(text, near_ms)
        found = milliseconds_of(time.replace(tzinfo=zone) if time.tzinfo is None else time)
        return found if FIRST_MS <= found <= LAST_MS else None

    return parse


def _date_parser(pattern: re.Pattern[bytes], zone: tzinfo) -> Parse:
    fullmatch = pattern.fullmatch

    def parse(text: bytes, near_ms: int) -> int | None:
        match = fullmatch(text.strip() if text.isascii() else _trimmed(text))
        if match is None:
            return None
        try:
            time = _milliseconds(match.groupdict(), zone, near_ms)
        except (ValueError, OverflowError):
            return None  # a date or time that does not exist, such as February 30
        return time if FIRST_MS <= time <= LAST_MS else None

    return parse


def _milliseconds(parts: dict[str, bytes | None], zone: tzinfo, near_ms: int) -> int:
    hour, minute, second = int(parts.get("H") or 0), int(parts.get("M") or 0), int(parts.get("S") or 0)
    half = parts.get("p")
    if parts.get("I"):
        hour = int(parts["I"] or 0)
        if half:
            hour = hour % _NOON + (_NOON if half.lower() == b"pm" else 0)
    offset = parts.get("z")
    time_zone = zone if offset is None else offset_of(offset)
    year = _year(parts)
    if year is None:
        time = in_nearest_year((_month(parts), int(parts["d"] or 0), hour, minute), second, time_zone, near_ms)
    else:
        day = _day(year, parts)
        time = milliseconds_at(datetime(day.year, day.month, day.day, hour, minute, tzinfo=time_zone), second)
    return time + int((parts.get("f") or b"0")[:3].ljust(3, b"0"))


def _year(parts: dict[str, bytes | None]) -> int | None:
    """The year; None if the format has none."""
    short = parts.get("y")
    if short is not None:
        return int(short) + (2000 if int(short) < _FIRST_SHORT_YEAR else 1900)
    year = parts.get("Y")
    return None if year is None else int(year)


def _day(year: int, parts: dict[str, bytes | None]) -> date:
    of_year = parts.get("j")
    if of_year is None:
        return date(year, _month(parts), int(parts.get("d") or 0))
    day = date.fromordinal(date(year, 1, 1).toordinal() + int(of_year) - 1)
    if day.year != year:
        raise ValueError("no such day of the year")
    return day


def _month(parts: dict[str, bytes | None]) -> int:
    name = parts.get("b")
    return int(parts.get("m") or 0) if name is None else MONTH_NUMBERS[name[:3].capitalize()]


def _trimmed(text: bytes) -> bytes:
    """A text without a byte order mark and white space at its ends, and with blanks for white space beyond ASCII."""
    return bytes_of(_SPACE.sub(" ", characters_of(text.removeprefix(byte_order_marks.UTF8)))).strip()


def _epoch_parser(factor: int, divisor: int) -> Parse:
    fullmatch = _EPOCH.fullmatch

    def parse(text: bytes, _near_ms: int) -> int | None:
        match = fullmatch(text.strip() if text.isascii() else _trimmed(text))
        if match is None:
            return None
        fraction = match[2] or b""
        digits = int(match[1] + fraction) * factor  # exact, where a float would round
        places = len(fraction) - int(match[3] or 0)
        time = digits // (divisor * 10**places) if places >= 0 else digits * 10**-places // divisor
        return time if FIRST_MS <= time <= LAST_MS else None

    return parse
