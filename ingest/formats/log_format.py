"""
Formats of access logs: Apache's LogFormat and nginx's log_format, as patterns with a name for each field.

Source: the documentation of Apache's mod_log_config and of nginx's ngx_http_log_module and its variables.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ingest.formats.times import MONTH_NUMBERS, in_calendar, iso_milliseconds, milliseconds_at

FORMATS = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "vhost_common": '%v:%p %h %l %u %t "%r" %>s %b',
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
}

_APACHE = re.compile(r"%(?:(%)|(\*)?[!\d,<>]*(?:\{([^}]*)\})?(\^[A-Z]{2}|\^t[io]|[A-Za-z]))?")
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
_NGINX = re.compile(r"\$(\*)?(?:\{(\w+)\}|(\w+))")
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
_NO_BLANKS = re.compile(
    r"client|peer|ident|server(_\w+)?|vhost|host(name)?|request_(id|completion)|method|protocol|query|scheme|https"
    r"|log_id|handler|connection(_\w+)?|thread|pipe|is_args|arg_\w+|ssl_(protocol|cipher|session_\w+)|gzip_ratio"
    r"|(proxy_protocol|realip_remote)_\w+|tcpinfo_\w+|upstream_(?!http_|cookie_|trailer_)\w+"
)  # a server writes these, or refuses a request with a blank in one
_END_OF_VALUES = re.compile(r'["\x00-\x1f]')  # servers escape these in values
_WIDE_TIMES = re.compile(r"%[-_0^#EO]*[ceklrvx+]")  # of strftime; they may have blanks
_MADE_OF = {"request": ("request", "method", "path", "query", "protocol"), "target": ("path", "query")}

_CLF_TIME = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):([0-5]\d|60) ([+-](?:[01]\d|2[0-3]))([0-5]\d)")
_MAX_DIGITS = 20  # of a time

ReadTime = Callable[[bytes], int]


class Field(NamedTuple):
    """
    A field of a format.

    Attributes:
        name: conventional, the same for both servers; "path" for a target.
        kind: `request`, `target` (path and query), `query` (with its question mark), how a time is written, or `own`
            for a time in a form of one's own; "" for all others.
        written: as it stands in the format.
        is_read: False for one that is only passed over.
    """

    name: str
    kind: str = ""
    written: str = ""
    is_read: bool = True

    @property
    def made(self) -> tuple[str, ...]:
        """Attributes that come of it."""
        return _MADE_OF.get(self.kind, (self.name,)) if self.is_read else ()


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
        patterns = [pattern for stretch in _stretches(_placed(parts)) for pattern in _stretch_patterns(stretch)]
        self.fullmatch = re.compile("".join(patterns).encode(), re.DOTALL).fullmatch
        self._parts = [(part.written if isinstance(part, Field) else part) for part in parts]
        self._patterns = patterns
        self.fields = tuple(part for part in parts if isinstance(part, Field) and part.is_read)
        kinds = [field.kind for field in self.fields]
        self.time = next(((kinds.index(kind), read) for kind, read in _TIMES.items() if kind in kinds), None)

    def stop(self, line: bytes) -> tuple[int, str]:
        """Where a line that does not fit stops to fit, a column from 1, and what the format has there; "" its end."""
        for count in range(len(self._patterns), 0, -1):
            found = re.match("".join(self._patterns[:count]).encode(), line, re.DOTALL)
            if found is not None:
                return found.end() + 1, self._parts[count] if count < len(self._parts) else ""
        return 1, self._parts[0]


def _parts(text: str) -> list[str | Field]:
    """Literals and fields of a format, never two literals in a row."""
    written = FORMATS.get(text, text)
    parts: list[str | Field] = []
    givers: dict[str, Field] = {}
    for part in _nginx_parts(written) if _NGINX.search(written) else _apache_parts(written):
        before = parts[-1] if parts else ""
        if isinstance(part, Field):
            if isinstance(before, Field) and part.kind != "query":
                raise ValueError(f'nothing stands between two fields of "{text}"')
            for name in part.made:
                if name in givers:
                    skipped = f"{part.written[0]}*{part.written[1:]}"
                    raise ValueError(
                        f'"{givers[name].written}" and "{part.written}" of "{text}" both give the attribute {name}; '
                        f"write {skipped} to pass the second one over, or the first in the same way"
                    )
                givers[name] = part
            parts.append(part)
        elif isinstance(before, str) and parts:
            parts[-1] = before + part
        elif part:
            parts.append(part)
    if not givers:
        raise ValueError(f'"{text}" has no field; a format is one of {", ".join(FORMATS)}, or the server\'s own')
    return parts


def _apache_parts(text: str) -> Iterator[str | Field]:
    at = 0
    for found in _APACHE.finditer(text):
        yield _literal(text[at : found.start()])
        at = found.end()
        percent, star, argument, letter = found.groups()
        field = Field("", written=found[0], is_read=star is None)
        if percent:
            yield percent
        elif letter in _APACHE_FAMILIES and argument:
            yield field._replace(name=_header(_APACHE_FAMILIES[letter] + argument))
        elif letter == "t" and argument is None:
            yield from ("[", field._replace(name="time", kind="clf"), "]")
        elif letter in _APACHE_NAMES:
            choice = (argument or "").removeprefix("begin:").removeprefix("end:")
            name = _APACHE_CHOICES.get((letter, choice), _APACHE_NAMES[letter])
            kind = {"r": "request", "q": "query"}.get(letter, name if name in _TIMES else "")
            yield field._replace(name=name, kind="own" if name == "time" else kind)
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
        variable = found[2] or found[3]
        name = _NGINX_NAMES.get(variable, variable)
        kind = {"time_local": "clf", "time_iso8601": "iso"}.get(variable, name)
        field = Field("", written=found[0], is_read=found[1] is None)
        if kind in _MADE_OF or kind in _TIMES:
            yield field._replace(name="path" if kind == "target" else name, kind=kind)
        else:
            yield field._replace(name=_header(name))
    yield text[at:]


def _header(name: str) -> str:
    name = re.sub(r"\W", "_", name.lower())
    return _HEADERS.get(name, name)


class _Placed(NamedTuple):
    """
    A field where it stands.

    Attributes:
        mark: the question mark of a query that may follow.
        stop: the next character of the format, none at its end.
    """

    field: Field
    mark: str
    stop: str

    @property
    def is_ended(self) -> bool:
        """Whether its end is sure, whatever it holds."""
        has_query = self.field.name == "path" and self.stop == "?"  # more queries than paths have a question mark
        return has_query or not self.stop or _END_OF_VALUES.match(self.stop) is not None

    @property
    def is_free(self) -> bool:
        """Whether its values may hold anything, blanks too."""
        name, kind, written, _ = self.field
        if kind == "own":
            return self.stop in {"", " "} and _WIDE_TIMES.search(written) is not None
        return kind == "request" or not (kind or _NUMBER.fullmatch(name) or _NO_BLANKS.fullmatch(name))


def _placed(parts: list[str | Field]) -> Iterator[str | _Placed]:
    for at, part in enumerate(parts):
        if isinstance(part, str):
            yield part
            continue
        after = parts[at + 1 : at + 3]
        mark = "?" if after and isinstance(after[0], Field) else ""  # only a query stands so close
        literal = after[len(mark) :][:1]
        yield _Placed(part, mark, str(literal[0])[0] if literal else "")


def _stretches(parts: Iterable[str | _Placed]) -> Iterator[list[str | _Placed]]:
    """Parts up to a quote or a tab each, which end the values before them whatever these hold."""
    stretch: list[str | _Placed] = []
    for part in parts:
        stretch.append(part)
        if isinstance(part, str) and _END_OF_VALUES.search(part):
            yield stretch
            stretch = []
    yield stretch


def _stretch_patterns(parts: list[str | _Placed]) -> list[str]:
    """
    A pattern for each of the parts that no quotes keep apart.

    There a value with a blank in it looks like two fields. Where one field alone may have blanks, it is what the others
    leave over. Where several may, a blank belongs to a value after a comma only, as in lists of addresses, and other
    lines do not fit: nobody could say which field a word is of.
    """
    fields = [part for part in parts if isinstance(part, _Placed)]
    free = [part for part in fields if part.is_free]
    of_lists = sum(part.field.name.startswith("upstream_") and not part.is_free for part in fields)
    of_free = len(free) if [part.field.name for part in free] == ["user"] else len(free) + of_lists
    # what stands after a field that may hold anything is in none of the others, so that none of them takes a part of it
    between = "".join(dict.fromkeys(part.stop for part in free if not part.is_ended))
    return [
        re.escape(part)
        if isinstance(part, str)
        else f"({'' if part.field.is_read else '?:'}{_value(part, between, of_free=of_free)})"
        for part in parts
    ]


def _value(part: _Placed, between: str, *, of_free: int) -> str:
    """A pattern for the text of a field, which ends where what comes after it begins."""
    field, mark, stop = part
    if field.kind == "clf":
        return r'[^]["]{0,40}'  # bounded, or a long line that is none would be tried for each of its brackets
    if not part.is_free or (field.name == "user" and of_free > 1):
        return _value_without_blanks(part, between)
    if of_free > 1:
        word = _without(mark + stop + between + '"')
        return f"{word}(?:(?<=,) {word})*+" if " " in stop + between else word
    if field.name == "user" or not stop:
        return ".*?"  # servers do not escape blanks in names of users
    word = _without(mark + stop + '"')
    return word if part.is_ended else f"{word}(?:{re.escape(stop)}{word})*?"


def _value_without_blanks(part: _Placed, between: str) -> str:
    field, mark, stop = part
    if _NUMBER.fullmatch(field.name):
        return r"-|\d+(?:\.\d+)?"
    if field.kind == "own":
        words = field.written.count(" ") + 1 if stop in {"", " "} else 1
        return " ".join([_without(f"[{stop or ' '}")] * words)  # no time has a bracket, which a name before it may have
    others = "".join(dict.fromkeys(f" {mark}{stop}{between}"))
    if field.kind == "query":
        return rf"(?:\?{_without(others)})?"
    if field.name.startswith("upstream_"):
        word = f"[^{re.escape(others)}]"
        return f"{word}*+(?:(?<=,) {word}++| : {word}++)*+"  # one value for each server that was asked
    if stop == ":":  # addresses have colons in them
        return r"\S*?" if between in {"", " "} else rf"[^\s{re.escape(between)}]*?"
    return _without(others)


def _without(stops: str) -> str:
    """A pattern for the longest text without some characters, but for those that are escaped."""
    stops = re.escape(stops)
    return rf"[^\\{stops}]*+(?:\\.[^\\{stops}]*+)*+" if '"' in stops else f"[^{stops}]*+"


def _clf_ms(text: bytes) -> int:
    found = _CLF_TIME.fullmatch(text)
    if found is None:
        raise ValueError("not as the servers write it")
    day, month, year, hour, minute, second, zone_hours, zone_minutes = found.groups()
    written = datetime(int(year), MONTH_NUMBERS[month], int(day), int(hour), int(minute), tzinfo=UTC)
    offset = timedelta(hours=int(zone_hours), minutes=int(zone_hours[:1] + zone_minutes))
    return in_calendar(milliseconds_at(written - offset, int(second)))


def _epoch_ms(digits: int) -> ReadTime:
    """A reader of times since 1970 in units of which a second has ten to the power of `digits`."""

    def read(text: bytes) -> int:
        whole, _, fraction = text.partition(b".")
        if len(text) > _MAX_DIGITS:
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
