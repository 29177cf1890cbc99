"""
Formats of access logs: Apache's LogFormat and nginx's log_format, as patterns with a name for each field.

Source: the documentation of Apache's mod_log_config and of nginx's ngx_http_log_module and its variables.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ingest.formats.times import MONTHS, in_calendar, iso_milliseconds, milliseconds_at

FORMATS = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "vhost_common": '%v:%p %h %l %u %t "%r" %>s %b',
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
}

_APACHE = re.compile(r"%(?:(%)|[!\d,<>]*(?:\{([^}]*)\})?(\^[A-Z]{2}|\^t[io]|[A-Za-z]))?")
_APACHE_NAMES = {
    "a": "client", "h": "client", "l": "ident", "u": "user", "s": "status", "b": "bytes", "B": "bytes",
    "I": "bytes_in", "O": "bytes_out", "S": "bytes_total", "v": "vhost", "V": "vhost", "p": "port", "A": "server",
    "r": "request", "m": "method", "U": "path", "q": "query", "H": "protocol", "D": "duration_us", "T": "duration_s",
    "f": "file", "k": "keepalives", "L": "log_id", "P": "pid", "R": "handler", "X": "connection", "t": "time",
    "^FB": "first_byte_us", "^FU": "first_byte_us",
}  # fmt: skip
_APACHE_CHOICES = {
    ("a", "c"): "peer", ("h", "c"): "peer", ("p", "remote"): "client_port", ("p", "local"): "local_port",
    ("T", "ms"): "duration_ms", ("T", "us"): "duration_us", ("P", "tid"): "thread", ("P", "hextid"): "thread",
    ("t", "sec"): "time_s", ("t", "msec"): "time_ms", ("t", "usec"): "time_us",
}  # fmt: skip
_APACHE_FAMILIES = {
    "i": "http_", "o": "sent_http_", "C": "cookie_", "e": "env_", "n": "note_", "x": "", "^ti": "trailer_",
    "^to": "sent_trailer_",
}  # fmt: skip
_NGINX = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_NGINX_NAMES = {
    "remote_addr": "client", "remote_user": "user", "remote_port": "client_port", "server_addr": "server",
    "server_name": "vhost", "server_port": "port", "time_local": "time", "time_iso8601": "time", "uri": "path",
    "request_method": "method", "request_uri": "target", "args": "query", "query_string": "query",
    "server_protocol": "protocol", "body_bytes_sent": "bytes", "bytes_sent": "bytes_out", "request_length": "bytes_in",
    "request_time": "duration_s",
}  # fmt: skip
_HEADERS = {"http_referer": "referrer", "http_user_agent": "user_agent", "http_host": "host"}
_NUMBER = re.compile(
    r"status|bytes(_\w+)?|(client_|local_)?port|pid|keepalives|duration_\w+|first_byte_us|time_m?u?s|msec"
)
_MADE_OF = {"request": ("request", "method", "path", "query", "protocol"), "target": ("path", "query")}

_CLF_TIME = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):([0-5]\d|60) ([+-](?:[01]\d|2[0-3]))([0-5]\d)")
_MOST_DIGITS = 20  # of a time

ReadTime = Callable[[bytes], int]


class Field(NamedTuple):
    """
    A field of a format.

    Attributes:
        name: conventional, the same for both servers; "path" for a target.
        kind: `request`, `target` (path and query), `query` (with its question mark), or how a time is written; "" for
            all others.
    """

    name: str
    kind: str = ""


class LogFormat:
    """
    A format, compiled.

    Args:
        text: one of `FORMATS`, or as the server's configuration has it; a `$name` makes it nginx's.

    Attributes:
        fullmatch: finds the fields in a line, a group each.
        fields: what the groups are.
        time: number of the group that tells the time best, and how it is read as milliseconds; None without one.

    Raises:
        ValueError: it is no format; says why.
    """

    def __init__(self, text: str) -> None:
        parts = _parts(text)
        pattern = "".join(
            re.escape(part) if isinstance(part, str) else _group(part, parts[index + 1 : index + 3])
            for index, part in enumerate(parts)
        )
        self.fullmatch = re.compile(pattern.encode(), re.DOTALL).fullmatch
        self.fields = tuple(part for part in parts if isinstance(part, Field))
        kinds = [field.kind for field in self.fields]
        self.time = next(((kinds.index(kind), read) for kind, read in _TIMES.items() if kind in kinds), None)


def _parts(text: str) -> list[str | Field]:
    """Literals and fields of a format, never two literals in a row."""
    written = FORMATS.get(text, text)
    parts: list[str | Field] = []
    names: set[str] = set()
    for part in _nginx_parts(written) if _NGINX.search(written) else _apache_parts(written):
        before = parts[-1] if parts else ""
        if isinstance(part, Field):
            if isinstance(before, Field) and part.kind != "query":
                raise ValueError(f'nothing stands between two fields of "{text}"')
            made = _MADE_OF.get(part.kind, (part.name,))
            if not names.isdisjoint(made):
                raise ValueError(f'two fields of "{text}" give the same attribute')
            names.update(made)
            parts.append(part)
        elif isinstance(before, str) and parts:
            parts[-1] = before + part
        elif part:
            parts.append(part)
    if not names:
        raise ValueError(f'"{text}" has no field; a format is one of {", ".join(FORMATS)}, or the server\'s own')
    return parts


def _apache_parts(text: str) -> Iterator[str | Field]:
    at = 0
    for found in _APACHE.finditer(text):
        yield _literal(text[at : found.start()])
        at = found.end()
        percent, argument, letter = found.groups()
        if percent:
            yield percent
        elif letter in _APACHE_FAMILIES and argument:
            yield _header(_APACHE_FAMILIES[letter] + argument)
        elif letter == "t" and argument is None:
            yield from ("[", Field("time", "clf"), "]")
        elif letter in _APACHE_NAMES:
            choice = (argument or "").removeprefix("begin:").removeprefix("end:")
            name = _APACHE_CHOICES.get((letter, choice), _APACHE_NAMES[letter])
            yield Field(name, {"r": "request", "q": "query"}.get(letter, name if name in _TIMES else ""))
        else:
            raise ValueError(f'"{found[0]}" is no field of Apache\'s')
    yield _literal(text[at:])


def _literal(text: str) -> str:
    """Apache's configuration has a backslash before quotes, and writes a tab as one."""
    return re.sub(r"\\(.)", lambda found: "\t" if found[1] == "t" else found[1], text)


def _nginx_parts(text: str) -> Iterator[str | Field]:
    at = 0
    for found in _NGINX.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        variable = found[1] or found[2]
        name = _NGINX_NAMES.get(variable, variable)
        kind = {"time_local": "clf", "time_iso8601": "iso"}.get(variable, name)
        if kind in _MADE_OF or kind in _TIMES:
            yield Field("path" if kind == "target" else name, kind)
        else:
            yield _header(name)
    yield text[at:]


def _header(name: str) -> Field:
    name = re.sub(r"\W", "_", name.lower())
    return Field(_HEADERS.get(name, name))


def _group(field: Field, after: list[str | Field]) -> str:
    """A pattern for the text of a field, which ends where what comes after it begins."""
    if _NUMBER.fullmatch(field.name):
        return r"(-|\d+(?:\.\d+)?)"
    if field.kind == "clf":
        return r'([^]"]{0,40})'  # bounded, or a long line that is none would be tried for each of its brackets
    stops = ""
    if after and isinstance(after[0], Field):  # only a query, which begins with its own character
        stops, after = "?", after[1:]
    stops += str(after[0])[0] if after else ""
    if field.kind == "query":
        return rf"((?:\?{_until(stops)})?)"
    if field.name.startswith("upstream_") and stops == " ":
        return r"([^ ]*(?:(?:,| :) [^ ]+)*)"  # one value for each server that was asked
    return rf"({_until('' if field.name == 'user' else stops)})"  # servers do not escape blanks in names of users


def _until(stops: str) -> str:
    if not stops:
        return ".*?"
    if stops == ":":
        return r"\S*?"  # addresses have colons in them
    stops = re.escape(stops)
    return rf"[^\\{stops}]*+(?:\\.[^\\{stops}]*+)*+" if '"' in stops else f"[^{stops}]*+"


def _clf_ms(text: bytes) -> int:
    found = _CLF_TIME.fullmatch(text)
    if found is None:
        raise ValueError("not as the servers write it")
    day, month, year, hour, minute, second, zone_hours, zone_minutes = found.groups()
    written = datetime(int(year), MONTHS[month], int(day), int(hour), int(minute), tzinfo=UTC)
    offset = timedelta(hours=int(zone_hours), minutes=int(zone_hours[:1] + zone_minutes))
    return in_calendar(milliseconds_at(written - offset, int(second)))


def _epoch_ms(digits: int) -> ReadTime:
    """A reader of times since 1970 in units of which a second has ten to the power of `digits`."""

    def read(text: bytes) -> int:
        whole, _, fraction = text.partition(b".")
        if len(text) > _MOST_DIGITS:
            raise ValueError("too many digits")
        return in_calendar(int(whole + fraction) * 1000 // int(10 ** (digits + len(fraction))))

    return read


_TIMES: dict[str, ReadTime] = {
    "time_us": _epoch_ms(6),
    "time_ms": _epoch_ms(3),
    "msec": _epoch_ms(0),
    "iso": iso_milliseconds,
    "clf": _clf_ms,
    "time_s": _epoch_ms(0),
}
