"""Parse a syslog message into attributes."""

import re
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.notation import name_from_bytes, name_to_bytes, shown_start
from ingest.expressions import ZoneName, zone_of
from ingest.formats.times import EPOCH, MONTH_NUMBERS, in_calendar, iso_milliseconds, milliseconds_at

_FACILITIES = (
    b"kern", b"user", b"mail", b"daemon", b"auth", b"syslog", b"lpr", b"news", b"uucp", b"cron", b"authpriv", b"ftp",
    b"ntp", b"audit", b"alert", b"clock", b"local0", b"local1", b"local2", b"local3", b"local4", b"local5", b"local6",
    b"local7",
)  # fmt: skip
_SEVERITIES = (b"emerg", b"alert", b"crit", b"err", b"warning", b"notice", b"info", b"debug")
_NIL = b"-"
_BOM = b"\xef\xbb\xbf"
_HALF_YEAR_MS = 183 * 24 * 3600 * 1000

_RFC5424 = re.compile(
    rb"<(?P<pri>\d{1,3})>1 (?P<time>\S+) (?P<host>\S+) (?P<app>\S+) (?P<pid>\S+) (?P<msgid>\S+) "
    rb'(?P<data>-|(?:\[[^\s="\]]+(?: [^\s="\]]+="[^"\\\]]*+(?:\\.[^"\\\]]*+)*+")*\])+)(?: (?P<message>.*))?',
    re.DOTALL,
)
_ELEMENT = re.compile(rb'\[([^\s="\]]+)((?: [^\s="\]]+="[^"\\\]]*+(?:\\.[^"\\\]]*+)*+")*)\]', re.DOTALL)
_PARAMETER = re.compile(rb' ([^\s="\]]+)="([^"\\\]]*+(?:\\.[^"\\\]]*+)*+)"', re.DOTALL)
_ESCAPED = re.compile(rb'\\(["\\\]])')
_SHORT_TIME = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_TAG = rb"[^\s:\[\]]++(?:\[[^\]]*+\])?+:(?!\S)"
_AFTER_TIME = rb" (?:(?=%b)|(?P<host>\S+) )(?:(?P<app>[^\s:\[\]]+)(?:\[(?P<pid>[^\]]*)\])?: ?)?(?P<message>.*)" % _TAG
_RFC3164 = re.compile(rb"<(?P<pri>\d{1,3})>(?P<time>%b)%b" % (_SHORT_TIME, _AFTER_TIME), re.DOTALL)
_FILE = re.compile(rb"(?P<time>%b|\d{4}-\d\d-\d\dT\S+)%b" % (_SHORT_TIME, _AFTER_TIME), re.DOTALL)
_PLAIN = ("host", "app", "pid", "msgid")


class Form(StrEnum):
    """The format of a message."""

    AUTO = "auto"
    RFC5424 = "rfc5424"
    RFC3164 = "rfc3164"
    FILE = "file"


class SyslogSettings(Settings):
    """Options of the syslog decorator."""

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="line")
    form: Form = option(
        "Format of the message: `rfc5424`, `rfc3164`, or `file` for lines of /var/log/syslog, which have no priority. "
        "`auto` detects the first two only, because a line of any log that starts with a time looks like the third.",
        default="auto",
        strict=False,
    )
    prefix: str = option(
        "Put before facility, severity, time, host, app, pid, msgid, message, and data.ID.NAME of structured data.",
        default="",
        example="2hb_log:",
    )
    set_time: bool = option("Set the event's time to the time of the message.", default=True)
    zone: ZoneName = option(
        "Time zone of times without one, as in RFC 3164; the pipeline's `timezone` when left out.",
        default=None,
        example="Europe/Berlin",
    )

    @property
    def other_names(self) -> str | None:
        """All names begin with `prefix`."""
        return self.prefix

    def sets_core(self) -> frozenset[str]:
        """The event's time, if `set_time` is true."""
        return frozenset(["timestamp"]) if self.set_time else frozenset()

    def time_may_be_coarse(self) -> bool:
        """Most messages have times in whole seconds."""
        return True


class Syslog(Decorator[SyslogSettings]):
    """
    Set attributes from the parts of a syslog message, or of a line that a syslog daemon wrote to a file.

    Messages are those of RFC 5424, with structured data, or RFC 3164. A part that is `-` sets nothing. A line of a file
    has no facility and severity; its time is that of RFC 3164 or, from newer daemons, RFC 5424. The time of RFC 3164
    has no year: the year nearest to the event's time is used. A leap second (second 60) is the start of the next
    minute, also in RFC 5424, which does not allow it.

    If the first word after a time of RFC 3164 ends with a colon (`kernel:`, `su[42]:`), as in messages that never left
    their machine, it is the app, and there is no host.

    Source: own design; RFC 5424, RFC 3164, and the names of facilities and severities in syslog.h.
    """

    kind = "syslog"
    examples = (
        Example(
            "RFC 5424 with structured data",
            settings="{prefix: '2hb_log:'}",
            body='<165>1 2003-10-11T22:14:15.003Z web1 evntslog 77 ID47 [ex@32473 iut="3" src="App"] it works',
            after={
                "2hb_log:facility": "local4",
                "2hb_log:severity": "notice",
                "2hb_log:time": "2003-10-11T22:14:15.003Z",
                "2hb_log:host": "web1",
                "2hb_log:app": "evntslog",
                "2hb_log:pid": "77",
                "2hb_log:msgid": "ID47",
                "2hb_log:data.ex@32473.iut": "3",
                "2hb_log:data.ex@32473.src": "App",
                "2hb_log:message": "it works",
            },
            timestamp_ms_after=1065910455003,
        ),
        Example(
            "RFC 3164, with the year of the event's time",
            body="<34>Oct 11 22:14:15 web1 su[42]: 'su root' failed",
            timestamp_ms=1065900000000,
            after={
                "facility": "auth",
                "severity": "crit",
                "time": "Oct 11 22:14:15",
                "host": "web1",
                "app": "su",
                "pid": "42",
                "message": "'su root' failed",
            },
            timestamp_ms_after=1065910455000,
        ),
        Example(
            "a line of /var/log/syslog",
            settings="{form: file, zone: Europe/Berlin}",
            body="Oct 12 00:14:15 web1 su[42]: 'su root' failed",
            timestamp_ms=1065900000000,
            after={"time": "Oct 12 00:14:15", "host": "web1", "app": "su", "pid": "42", "message": "'su root' failed"},
            timestamp_ms_after=1065910455000,
        ),
        Example(
            "a local message without a host",
            settings="{set_time: false}",
            body="<0>Oct 11 22:14:15 kernel: out of memory",
            after={
                "facility": "kern",
                "severity": "emerg",
                "time": "Oct 11 22:14:15",
                "app": "kernel",
                "message": "out of memory",
            },
        ),
        Example("not a syslog message", body="it works", error="bad_syslog"),
    )

    def __init__(self, settings: SyslogSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._zone = zone_of(settings.zone or "UTC")
        forms = {Form.RFC5424: (_RFC5424,), Form.RFC3164: (_RFC3164,), Form.FILE: (_FILE,)}
        self._matches = tuple(form.fullmatch for form in forms.get(settings.form, (_RFC5424, _RFC3164)))
        prefix = settings.prefix
        self._facility, self._severity = f"{prefix}facility", f"{prefix}severity"
        self._time, self._message = f"{prefix}time", f"{prefix}message"
        self._names = tuple((part, prefix + part) for part in _PLAIN)
        self._data = name_to_bytes(f"{prefix}data.")

    def decorate(self, event: Event) -> bool:
        """Set the attributes, and the event's time."""
        text = event.text_of(self._source, "to read a message from")
        line = text.removesuffix(b"\n")
        found = next((found for match in self._matches if (found := match(line))), None)
        if found is None:
            hint = "it has no <PRI>; for lines of a file, set `form: file`" if _FILE.fullmatch(line) else None
            raise DecorateError(f"{shown_start(line)} is not a syslog message", code="bad_syslog", hint=hint)
        parts = found.groupdict()
        attributes: dict[str, bytes] = {}
        if found.re is not _FILE:
            facility, severity = divmod(int(parts["pri"]), len(_SEVERITIES))
            if facility >= len(_FACILITIES):
                raise DecorateError(
                    f"<{parts['pri'].decode()}> is not a priority: the largest is 191", code="bad_syslog"
                )
            attributes = {self._facility: _FACILITIES[facility], self._severity: _SEVERITIES[severity]}
        timestamp_ms = self._timestamp_ms(found, event.timestamp_ms)
        if parts["time"] != _NIL:
            attributes[self._time] = parts["time"]
        for part, name in self._names:
            value = parts.get(part)
            if value is not None and value != _NIL:
                attributes[name] = value
        for element, parameters in _ELEMENT.findall(parts.get("data") or b""):
            for key, value in _PARAMETER.findall(parameters):
                name = name_from_bytes(b"%b%b.%b" % (self._data, element, key))
                attributes[name] = _ESCAPED.sub(rb"\1", value) if b"\\" in value else value
        if parts["message"] is not None:
            attributes[self._message] = parts["message"].removeprefix(_BOM)
        event.update(attributes)
        if self.settings.set_time and timestamp_ms is not None:
            event.timestamp_ms = timestamp_ms
        return True

    def _timestamp_ms(self, found: re.Match[bytes], near_ms: int) -> int | None:
        text = found["time"]
        if text == _NIL:
            return None
        try:
            is_short = found.re is not _RFC5424 and text[:1].isalpha()
            return _nearest_ms(text, near_ms, self._zone) if is_short else iso_milliseconds(text)
        except (ValueError, OverflowError, KeyError) as error:
            raise DecorateError(f"{shown_start(text)} is not a time of a syslog message", code="bad_time") from error


def _nearest_ms(text: bytes, near_ms: int, zone: tzinfo) -> int:
    """The time of a text without a year: of three years, the one less than half a year away."""
    near = (EPOCH + timedelta(milliseconds=near_ms)).astimezone(zone)
    month, day = MONTH_NUMBERS[text[:3]], int(text[4:6])
    hour, minute, second = (int(part) for part in text[7:].split(b":"))
    for year in (near.year, near.year - 1, near.year + 1):
        try:
            found_ms = milliseconds_at(datetime(year, month, day, hour, minute, tzinfo=zone), second)
        except ValueError:
            continue  # February 29 does not exist in this year
        if abs(found_ms - near_ms) <= _HALF_YEAR_MS:
            return in_calendar(found_ms)
    raise ValueError("no such day")
