"""Parse a syslog message into attributes."""

import re
from enum import StrEnum

from decorators.syslog.messages import (
    FILE,
    PLAIN,
    PLAIN_LINE,
    RFC3164,
    RFC5424,
    RFC5424_BARE,
    TEXT,
    UNTIMED,
    data_of,
    has_second_frame,
    missing_of_rfc5424,
)
from decorators.syslog.times import epoch_milliseconds, milliseconds_of, plain_milliseconds_of
from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.event_errors import BadTimeError
from ingest.api.notation import name_from_bytes, name_to_bytes, shown_start
from ingest.expressions import ZoneName, zone_of
from ingest.formats import byte_order_marks
from ingest.formats.byte_numbers import LESS_THAN
from ingest.formats.times import iso_milliseconds

_FACILITIES = (
    b"kern", b"user", b"mail", b"daemon", b"auth", b"syslog", b"lpr", b"news", b"uucp", b"cron", b"authpriv", b"ftp",
    b"ntp", b"audit", b"alert", b"clock", b"local0", b"local1", b"local2", b"local3", b"local4", b"local5", b"local6",
    b"local7",
)  # fmt: skip
_SEVERITIES = (b"emerg", b"alert", b"crit", b"err", b"warning", b"notice", b"info", b"debug")
_ALIASES = {b"panic": b"emerg", b"error": b"err", b"warn": b"warning"}
_NIL = (b"-", b"")
_COUNTER, _SYNCED = b"meta.sequenceId", b"timeQuality.isSynced"
_ENDS = (b"\n", b"\0")
_END = re.compile(rb"(?:\r?\n|\x00)\Z")


class BadSyslogError(DecorateError):
    """The text has no priority, or not the header of the option `form`."""

    code = "bad_syslog"


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
        "Time zone of times without an offset, UTC, GMT or Z, as in RFC 3164; the pipeline's `timezone` when left out.",
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

    What can be read of a header is read, and the rest is the message. An event fails only without a priority of 0 to
    191, with a time that does not exist, such as February 30, or with several frames; the error names the column. A
    part that is `-` sets nothing.

    A header of RFC 5424 is `<PRI>1` and five words, of which the first is `-` or a time that begins with a digit.
    Values of a name that repeats in structured data, such as several `ip` of `origin`, are joined by commas. Without
    structured data, or with data that RFC 5424 does not allow, as in messages of Heroku and Check Point, the rest is
    the message; blanks before `]` and a `]` in quotes are accepted. Where no structured data follow, a word with `=`,
    `"`, `{` or `|` is of the message, and so is all that follows the host. A `<PRI>` with neither this header nor a
    time is followed by the message alone (RFC 3164, 4.3.2). A length before `<PRI>` (RFC 6587, 3.4.1) is skipped,
    unless another frame follows after so many bytes; so is an LF, CR LF or NUL at the end, and a byte order mark at the
    start of the text or of the message.

    In other headers the time is that of RFC 3164, with a year, a fraction, AM or PM and a zone if they are there, or
    that of RFC 3339, also with a blank in place of the T. Without a year, it is in the year nearest to the event's
    time; February 29 is in the nearest leap year. An offset after the time (`+01:00`, `UTC+1`), UTC, GMT or Z is its
    zone. Other abbreviations are skipped, since they are ambiguous: `zone` says which zone they mean. A leap second
    (second 60) is the start of the next minute, also in RFC 5424, which does not allow it.

    The first word after the time is the host, unless it ends with a colon (`kernel:`, `su[42]:`), begins with `%` or
    `#`, or has a bracket or a character of pairs or JSON: then there is no host. A word before a colon and white space
    or the end, or before `[PID]:`, is the app, unless it begins with `%` or is a number, `CEF` or `LEEF`, which `cef`
    and `leef` read in the message.

    Devices put words before the time: a counter of messages (`data.meta.sequenceId`), a host, and `*` or `.` if the
    clock is not synchronized (`data.timeQuality.isSynced` is `0`), by the names of RFC 5424, 7. A time since the start
    of the device (`2y10w`) is no time, and the message begins with it.

    A line of a file begins with the time. It has no facility and severity, unless it names them (`daemon.info`), as
    lines of BusyBox and OpenWrt do.

    Source: own design; RFC 3164, RFC 5424, RFC 6587, and the names of facilities and severities in syslog.h. Headers of
    devices: Cisco's `service timestamps`, `service sequence-numbers` and `logging origin-id` (IOS, IOS XR, NX-OS),
    `logging timestamp`, `logging device-id` and EMBLEM (ASA, FTD), the syslogs of ISE, UCM and Meraki; Huawei's
    `info-center timestamp`; Junos' `time-format`; rsyslog's RSYSLOG_ForwardFormat; the forwarding of AIX; Sophos UTM.
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
        Example(
            "Cisco IOS, with a clock that is not synchronized",
            body="<189>4712: r1: *Oct 11 2003 22:14:15.115: %SYS-5-CONFIG_I: Configured from console",
            after={
                "facility": "local7",
                "severity": "notice",
                "time": "Oct 11 2003 22:14:15.115",
                "host": "r1",
                "data.meta.sequenceId": "4712",
                "data.timeQuality.isSynced": "0",
                "message": "%SYS-5-CONFIG_I: Configured from console",
            },
            timestamp_ms_after=1065910455115,
        ),
        Example(
            "a priority and text",
            body="<38>User logged into the appliance",
            after={"facility": "auth", "severity": "info", "message": "User logged into the appliance"},
        ),
        Example("not a syslog message", body="it works", error="bad_syslog"),
    )

    def __init__(self, settings: SyslogSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._zone = zone_of(settings.zone or "UTC")
        rest = (RFC3164, UNTIMED, TEXT)
        forms = {Form.RFC5424: (RFC5424, RFC5424_BARE), Form.RFC3164: (PLAIN, *rest), Form.FILE: (PLAIN_LINE, FILE)}
        chosen = forms.get(settings.form, (RFC5424, PLAIN, RFC5424_BARE, *rest))
        self._matches = tuple(form.fullmatch for form in chosen)
        self._is_file = settings.form is Form.FILE
        self._sets_time = settings.set_time
        prefix = settings.prefix
        self._facility, self._severity = f"{prefix}facility", f"{prefix}severity"
        self._time, self._message = f"{prefix}time", f"{prefix}message"
        self._host, self._app, self._pid = f"{prefix}host", f"{prefix}app", f"{prefix}pid"
        self._msgid = f"{prefix}msgid"
        self._data = name_to_bytes(f"{prefix}data.")

    def decorate(self, event: Event) -> bool:
        """Set the attributes, and the event's time."""
        text = event.text_of(self._source, "to read a message from")
        line = _END.sub(b"", text) if text.endswith(_ENDS) else text
        found = self._found(line)
        if found is None and line.startswith(byte_order_marks.UTF8):
            line = line.removeprefix(byte_order_marks.UTF8)
            found = self._found(line)
        if found is None:
            raise self._no_message(line)
        attributes: dict[str, bytes] = {}
        if not self._is_file:
            # most messages have one priority
            if line[0] != LESS_THAN and line.count(LESS_THAN) > 1 and has_second_frame(line):
                raise BadSyslogError(
                    f"the text has several frames: the first has {line.partition(b' ')[0].decode()} bytes",
                    hint="have line ends after messages in place of lengths before them, and `explode` the text first",
                )
            facility, severity = divmod(int(found["pri"]), len(_SEVERITIES))
            if facility >= len(_FACILITIES):
                raise BadSyslogError(
                    f"<{found['pri'].decode()}> at column {found.start('pri')} is not a priority: the largest is 191"
                )
            attributes = {self._facility: _FACILITIES[facility], self._severity: _SEVERITIES[severity]}
        timestamp_ms: int | None = None
        form = found.re
        if form is RFC5424 or form is RFC5424_BARE:  # not `in`, which compares or hashes whole expressions
            timestamp_ms = self._of_rfc5424(found, attributes)
        elif form is UNTIMED:
            self._of_untimed(found, attributes)
        elif form is TEXT:
            attributes[self._message] = found["message"]
        else:
            timestamp_ms = self._of_rfc3164(found, attributes, event.timestamp_ms)
        event.update(attributes)
        if self._sets_time and timestamp_ms is not None:
            event.timestamp_ms = timestamp_ms
        return True

    def _found(self, line: bytes) -> re.Match[bytes] | None:
        for match in self._matches:
            found = match(line)
            if found is not None:
                return found
        return None

    def _of_rfc5424(self, found: re.Match[bytes], attributes: dict[str, bytes]) -> int | None:
        _pri, time, host, app, pid, msgid, rest = found.groups()
        timestamp_ms: int | None = None
        if time != b"-":
            attributes[self._time] = time
            try:
                timestamp_ms = iso_milliseconds(time, self._zone)
            except (ValueError, OverflowError) as error:
                hint = "if this is text without a header, set `form: rfc3164`"
                raise _bad_time(time, found.start("time"), hint) from error
        words = ((self._host, host), (self._app, app), (self._pid, pid), (self._msgid, msgid))
        attributes.update({name: word for name, word in words if word not in _NIL})
        data, message = data_of(rest)
        if data:
            attributes.update({name_from_bytes(self._data + key): value for key, value in data.items()})
        if message is not None:
            attributes[self._message] = message.removeprefix(byte_order_marks.UTF8)
        return timestamp_ms

    def _of_rfc3164(self, found: re.Match[bytes], attributes: dict[str, bytes], near_ms: int) -> int:
        is_plain = found.re is PLAIN or found.re is PLAIN_LINE
        time, host, app, pid, message = found.group("time", "host", "app", "pid", "message")
        try:
            if is_plain:
                timestamp_ms = plain_milliseconds_of(found, near_ms, self._zone)
            elif time is not None:
                timestamp_ms = milliseconds_of(found, near_ms, self._zone)
            else:
                time = found["epoch"]
                timestamp_ms = epoch_milliseconds(found)
        except (ValueError, OverflowError) as error:
            raise _bad_time(time, found.start("time")) from error
        attributes[self._time] = time
        if not is_plain:
            host = host or found["relayed"]
            if found.re is FILE and (named := found["first_pri"] or found["second_pri"]) is not None:
                attributes[self._facility], _, severity = named.partition(b".")
                attributes[self._severity] = _ALIASES.get(severity, severity)
        if found.re is RFC3164 and found["device"]:
            host = host or found["origin"] or found["router"]
            if found["counter"]:
                self._set_data(_COUNTER, found["counter"], attributes)
            if found["unsynced"]:
                self._set_data(_SYNCED, b"0", attributes)
        words = ((self._host, host), (self._app, app), (self._pid, pid))
        attributes.update({name: word for name, word in words if word is not None and word not in _NIL})
        attributes[self._message] = message.removeprefix(byte_order_marks.UTF8)
        return timestamp_ms

    def _of_untimed(self, found: re.Match[bytes], attributes: dict[str, bytes]) -> None:
        counter, host, message = found.group("counter", "origin", "message")
        if counter is not None:
            self._set_data(_COUNTER, counter, attributes)
        if host is not None:
            attributes[self._host] = host
        attributes[self._message] = message

    def _set_data(self, key: bytes, value: bytes, attributes: dict[str, bytes]) -> None:
        attributes[name_from_bytes(self._data + key)] = value

    def _no_message(self, line: bytes) -> DecorateError:
        form = self.settings.form
        reason, hint = "it has no <PRI> at column 1", None
        if form is Form.RFC5424:
            part, column = missing_of_rfc5424(line)
            reason = f"it has no {part} at column {column}"
            hint = "for messages without this header, leave `form` out" if column > 1 else None
        elif form is Form.FILE:
            reason = "it has no time at column 1"
        elif RFC5424.fullmatch(line) or RFC5424_BARE.fullmatch(line):
            reason, hint = "it is one of RFC 5424", "for both forms, leave `form` out"
        if form is not Form.FILE and FILE.fullmatch(line):
            hint = "for lines of a file, set `form: file`"
        message = f"{shown_start(line)} is not a syslog message: {reason}"
        return BadSyslogError(message, hint=hint)


def _bad_time(time: bytes, start: int, hint: str | None = None) -> DecorateError:
    message = f"{shown_start(time)} at column {start + 1} is not a time of a syslog message"
    return BadTimeError(message, hint=hint)
