"""Parse a line of a web server's access log into attributes."""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.event_errors import BadTimeError
from ingest.api.notation import shown, shown_start
from ingest.formats import byte_order_marks
from ingest.formats.byte_numbers import BACKSLASH, LF
from ingest.formats.log_format import FORMATS, LogFormat
from ingest.suggest import did_you_mean

_MISSING = b"-"

_REQUEST = re.compile(rb"([!#-'*+.^-z|~\dA-Z-]+) (?:(\S.*) (HTTP/\d(?:\.\d)?)|(/.*))", re.DOTALL)
_ESCAPED = re.compile(rb'\\(x[\dA-Fa-f]{2}|["\\bnrtv])')
_ESCAPES = {b'"': b'"', b"\\": b"\\", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

_MAX_TIMES = 4_096  # cached times: consecutive lines often have the same one

Attributes = dict[str, bytes]
Split = Callable[[Attributes, bytes], None]


class BadAccessLineError(DecorateError):
    """The text is not an access-log line in the decorator's format."""

    code = "bad_access_line"
    remedy = "Set `format` to the format of the server's log, or guard the decorator with `when`."


class _Form(NamedTuple):
    """
    A compiled log format with the names of its attributes.

    Attributes:
        stop: the column at which a line stops matching, and what the format expects there.
        fields: for each group its attribute, and the function that splits it into several attributes, if any.
        time: number of the group that `read_time` parses.
    """

    fullmatch: Callable[[bytes], re.Match[bytes] | None]
    stop: Callable[[bytes], tuple[int, str]]
    fields: tuple[tuple[str, Split | None], ...]
    time: int
    read_time: Callable[[bytes], int] | None


class OnDash(StrEnum):
    """The result for a `-`."""

    UNSET = "unset"
    EMPTY = "empty"
    KEEP = "keep"


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _known_format(text: str) -> str:
    try:
        LogFormat(text)
    except ValueError as error:
        about = {"problem": str(error), "hint": did_you_mean(text, FORMATS)}
        raise PydanticCustomError("bad_pattern", "{problem}", about) from error
    return text


class AccessLogSettings(Settings):
    """Options of the access_log decorator."""

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="line")
    formats: Annotated[
        list[Annotated[str, AfterValidator(_known_format)]],
        BeforeValidator(_as_list, json_schema_input_type=str | list[str]),
    ] = option(
        "One format or several; the first that matches a line is used. `common`, `combined`, `vhost_common`, "
        "`vhost_combined`, or the server's own: Apache's LogFormat with its %h, or nginx's log_format with its "
        "$remote_addr.",
        default=["combined", "common"],
        example='$remote_addr [$time_local] "$request" $status $request_time',
        min_length=1,
    )
    prefix: str = option("Put before every attribute name.", default="", example="2hb_web:")
    on_dash: OnDash = option(
        "A `-`, which marks a missing value (no user, no bytes), sets no attribute (`unset`), an `empty` one, or the "
        "`-` itself (`keep`).",
        default="unset",
        strict=False,
    )
    set_time: bool = option("Set the event's time to the time of the line.", default=True)

    @property
    def other_names(self) -> str | None:
        """All names begin with `prefix`."""
        return self.prefix

    def sets_core(self) -> frozenset[str]:
        """The event's time, if `set_time` is true."""
        return frozenset(["timestamp"]) if self.set_time else frozenset()

    def time_may_be_coarse(self) -> bool:
        """Most log formats have times in whole seconds."""
        return True


class AccessLog(Decorator[AccessLogSettings]):
    r"""
    Parse a line of an access log of Apache or nginx into attributes.

    The names are client, ident, user, time, status, bytes, referrer, user_agent, vhost, port, host, and for the request
    method, path, query (without the question mark) and protocol; a malformed request is set whole, as `request`. Custom
    formats also have bytes_in, bytes_out, duration_s, duration_ms, duration_us, client_port, server, pid and others.
    Request headers are http_NAME, response headers sent_http_NAME, cookies cookie_NAME, in lower case with underscores;
    all other variables of nginx keep nginx's names.

    A line end after the line and a byte order mark before it are removed. Escapes of the server (`\"`, `\x16`, `\n`)
    are decoded, so a value is the bytes the server received. A format with a `$name` is one of nginx. For lines of
    JSON, use `json`.

    Two fields cannot set the same attribute, as `%r` and `%m` would (both the method) or `$time_local` and
    `$time_iso8601` (both the time): write a star into one of them (`%*m`, `$*time_iso8601`) to skip that field.

    A client may be a list, `10.0.0.1, 10.0.0.2`, as servers write it that log X-Forwarded-For in its place: a space
    after a comma does not end it (nginx's `$proxy_add_x_forwarded_for`).

    Servers do not escape spaces in headers and user names, so quote such fields in the format. If only one of them is
    outside quotes, its value may contain spaces, but a user neither starts nor ends with a dash beside a space. If
    several are, a value may contain a space only after a comma; any other line with spaces in these fields fails.

    Apache writes an empty user name as `""`; it sets an empty user.

    Source: own design; the formats are those of Apache's mod_log_config and nginx's ngx_http_log_module, with the
    escapes of Apache's ap_escape_logitem and nginx's `escape=default`.
    """

    kind = "access_log"
    examples = (
        Example(
            "the combined format",
            settings="{prefix: '2hb_web:'}",
            body='203.0.113.9 - ann [10/Oct/2000:13:55:36 -0700] "GET /shop/42?page=7 HTTP/1.1" 200 5120 '
            '"https://example.com/" "Mozilla/5.0 \\"x\\""',
            after={
                "2hb_web:client": "203.0.113.9",
                "2hb_web:user": "ann",
                "2hb_web:time": "10/Oct/2000:13:55:36 -0700",
                "2hb_web:method": "GET",
                "2hb_web:path": "/shop/42",
                "2hb_web:query": "page=7",
                "2hb_web:protocol": "HTTP/1.1",
                "2hb_web:status": "200",
                "2hb_web:bytes": "5120",
                "2hb_web:referrer": "https://example.com/",
                "2hb_web:user_agent": 'Mozilla/5.0 "x"',
            },
            timestamp_ms_after=971211336000,
        ),
        Example(
            "a custom format of nginx",
            settings="{formats: '$host $remote_addr [$time_iso8601] \"$request\" $status $request_time'}",
            body='example.com 2001:db8::1 [2000-10-10T13:55:36-07:00] "\\x16\\x03\\x01" 400 0.005',
            after={
                "host": "example.com",
                "client": "2001:db8::1",
                "time": "2000-10-10T13:55:36-07:00",
                "request": "\x16\x03\x01",
                "status": "400",
                "duration_s": "0.005",
            },
            timestamp_ms_after=971211336000,
        ),
        Example(
            "a custom format of Apache",
            settings="{formats: '%v %h %>s %D \"%m %U%q\" %{X-Request-Id}i', set_time: false}",
            body='example.com 10.0.0.1 404 1520 "GET /a?b=1" 7f3c',
            after={
                "vhost": "example.com",
                "client": "10.0.0.1",
                "status": "404",
                "duration_us": "1520",
                "method": "GET",
                "path": "/a",
                "query": "b=1",
                "http_x_request_id": "7f3c",
            },
        ),
        Example(
            "a list of addresses in the place of the client",
            settings="{set_time: false}",
            body='10.0.0.1, 10.0.0.2 - ann [10/Oct/2000:13:55:36 -0700] "-" 408 -',
            after={
                "client": "10.0.0.1, 10.0.0.2",
                "user": "ann",
                "time": "10/Oct/2000:13:55:36 -0700",
                "status": "408",
            },
        ),
        Example("a line in another format", body="it works", error="bad_access_line"),
        Example("a date that does not exist", body='h - - [31/Feb/2000:13:55:36 +0000] "-" 400 -', error="bad_time"),
        Example("an absent attribute", settings="{source: line}", error="no_attribute"),
    )

    def __init__(self, settings: AccessLogSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._forms = tuple(_form(LogFormat(text), settings.prefix) for text in settings.formats)
        self._dash_value = {OnDash.EMPTY: b"", OnDash.KEEP: _MISSING}.get(settings.on_dash)

    def decorate(self, event: Event) -> bool:
        """Set the attributes, and the event's time."""
        text = event.text_of(self._source, "to read a line from")
        line = text.removesuffix(b"\n").removesuffix(b"\r").removeprefix(byte_order_marks.UTF8)
        for form in self._forms:
            match = form.fullmatch(line)
            if match is not None and LF not in line:
                break
        else:
            column, wanted = max(form.stop(line) for form in self._forms)
            at = f"the format has {shown(wanted.encode())} there" if wanted else "the format ends there"
            message = (
                f"{shown_start(line)} is not a line of this access log: it stops matching at column {column}, {at}"
            )
            raise BadAccessLineError(message)
        values = match.groups()
        attributes = self._attributes(form, values, is_escaped=BACKSLASH in line)
        timestamp_ms = None
        if form.read_time is not None and self.settings.set_time and values[form.time] != _MISSING:
            try:
                timestamp_ms = form.read_time(values[form.time])
            except (ValueError, OverflowError, KeyError) as error:
                raise BadTimeError(f"{shown_start(values[form.time])} is not a time of an access log") from error
        event.update(attributes)
        if timestamp_ms is not None:
            event.timestamp_ms = timestamp_ms
        return True

    def _attributes(self, form: _Form, values: tuple[bytes, ...], *, is_escaped: bool) -> Attributes:
        dash_value = self._dash_value
        attributes: Attributes = {}
        for (name, split), value in zip(form.fields, values, strict=True):
            if value == _MISSING:
                if dash_value is not None:
                    attributes[name] = dash_value
                continue
            plain = _ESCAPED.sub(_unescaped, value) if is_escaped and BACKSLASH in value else value
            if split is None:
                attributes[name] = plain
            else:
                split(attributes, plain)
        return attributes


def _unescaped(found: re.Match[bytes]) -> bytes:
    escape = found[1]
    return _ESCAPES.get(escape) or bytes((int(escape[1:], 16),))


def _form(log_format: LogFormat, prefix: str) -> _Form:
    time, read_time = log_format.time or (0, None)
    return _Form(
        log_format.fullmatch,
        log_format.stop,
        tuple((prefix + field.name, _split(field.kind, prefix)) for field in log_format.fields),
        time,
        None if read_time is None else lru_cache(_MAX_TIMES)(read_time),
    )


def _split(kind: str, prefix: str) -> Split | None:
    method_name, protocol_name, whole_name = prefix + "method", prefix + "protocol", prefix + "request"
    path_name, query_name = prefix + "path", prefix + "query"

    def split_request(attributes: Attributes, text: bytes) -> None:
        found = _REQUEST.fullmatch(text)
        if found is None:
            attributes[whole_name] = text
            return
        method, target, protocol, bare_target = found.groups()
        attributes[method_name] = method
        split_target(attributes, target or bare_target)
        if protocol is not None:
            attributes[protocol_name] = protocol

    def split_target(attributes: Attributes, text: bytes) -> None:
        attributes[path_name], mark, query = text.partition(b"?")
        if mark:
            attributes[query_name] = query

    def set_query(attributes: Attributes, text: bytes) -> None:
        if text:
            attributes[query_name] = text[1:]

    return {"request": split_request, "target": split_target, "query": set_query}.get(kind)
