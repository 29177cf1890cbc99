"""
Formats of access logs, Apache's LogFormat and nginx's log_format, compiled to patterns with named fields.

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
)  # fields without blanks: servers generate them, or reject requests with blanks in them
_END_OF_VALUES = re.compile(r'["\x00-\x1f]')  # servers escape these in values
_WIDE_TIMES = re.compile(r"%[-_0^#EO]*[ceklrvx+]")  # strftime letters whose output may contain blanks
_MADE_OF = {"request": ("request", "method", "path", "query", "protocol"), "target": ("path", "query")}

_CLF_TIME = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):([0-5]\d|60) ([+-](?:[01]\d|2[0-3]))([0-5]\d)")
_MAX_DIGITS = 20  # in a time

ReadTime = Callable[[bytes], int]


class Field(NamedTuple):
    """
    A field of a format.

    Attributes:
        name: its attribute, the same for both servers; "path" for a target.
        kind: `request`, `target` (path and query), `query` (with its question mark), the notation of a time, or `own`
            for a time in a custom format; "" for all others.
        written: its text in the format.
        is_read: False for a field that is skipped.
    """

    name: str
    kind: str = ""
    written: str = ""
    is_read: bool = True

    @property
    def made(self) -> tuple[str, ...]:
        """The attributes that it sets."""
        return _MADE_OF.get(self.kind, (self.name,)) if self.is_read else ()


class LogFormat:
    """
    A compiled format.

    Args:
        text: one of `FORMATS`, or a format from the server's configuration; one with a `$name` is nginx's.

    Attributes:
        fullmatch: matches a line, with a group for each field.
        fields: the fields of the groups.
        time: index of the field with the most precise time, and the function that parses it to milliseconds; None
            without one.

    Raises:
        ValueError: the format is invalid.
    """

    def __init__(self, text: str) -> None:
        parts = _parts(text)
        patterns = [pattern for group in _groups(_located(parts)) for pattern in _group_patterns(group)]
        self.fullmatch = re.compile("".join(patterns).encode(), re.DOTALL).fullmatch
        self._parts = [(part.written if isinstance(part, Field) else part) for part in parts]
        self._patterns = patterns
        self.fields = tuple(part for part in parts if isinstance(part, Field) and part.is_read)
        kinds = [field.kind for field in self.fields]
        self.time = next(((kinds.index(kind), read) for kind, read in _TIMES.items() if kind in kinds), None)

    def stop(self, line: bytes) -> tuple[int, str]:
        """The column, from 1, at which a line does not match, and the expected part of the format; "" for its end."""
        for count in range(len(self._patterns), 0, -1):
            found = re.match("".join(self._patterns[:count]).encode(), line, re.DOTALL)
            if found is not None:
                column = len(line[: found.end()].decode("utf-8", "replace")) + 1
                return column, self._parts[count] if count < len(self._parts) else ""
        return 1, self._parts[0]


def _parts(text: str) -> list[str | Field]:
    """Literals and fields of a format, never two literals in a row."""
    written = FORMATS.get(text, text)
    parts: list[str | Field] = []
    setters: dict[str, Field] = {}
    for part in _nginx_parts(written) if _NGINX.search(written) else _apache_parts(written):
        before = parts[-1] if parts else ""
        if isinstance(part, Field):
            if isinstance(before, Field) and part.kind != "query":
                raise ValueError(f'"{text}" has two fields without text between them')
            for name in part.made:
                if name in setters:
                    skipped = f"{part.written[0]}*{part.written[1:]}"
                    raise ValueError(
                        f'"{setters[name].written}" and "{part.written}" of "{text}" both set the attribute {name}; '
                        f"write {skipped} to skip the second one, or skip the first in the same way"
                    )
                setters[name] = part
            parts.append(part)
        elif isinstance(before, str) and parts:
            parts[-1] = before + part
        elif part:
            parts.append(part)
    if not setters:
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
            raise ValueError(f'"{found[0]}" is not a field of Apache\'s')
    yield _literal(text[at:])


def _literal(text: str) -> str:
    r"""Remove the escapes of Apache's configuration: a backslash before quotes, and `\t` for a tab."""
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


class _LocatedField(NamedTuple):
    """
    A field and what follows it in the format.

    Attributes:
        mark: "?" if a query may follow directly.
        stop: the next character of the format, "" at its end.
    """

    field: Field
    mark: str
    stop: str

    @property
    def is_ended(self) -> bool:
        """Whether its end is unambiguous for any value."""
        has_query = self.field.name == "path" and self.stop == "?"  # a question mark is more common in queries
        return has_query or not self.stop or _END_OF_VALUES.match(self.stop) is not None

    @property
    def is_free(self) -> bool:
        """Whether its values may contain blanks."""
        name, kind, written, _ = self.field
        if kind == "own":
            return self.stop in {"", " "} and _WIDE_TIMES.search(written) is not None
        return kind == "request" or not (kind or _NUMBER.fullmatch(name) or _NO_BLANKS.fullmatch(name))


def _located(parts: list[str | Field]) -> Iterator[str | _LocatedField]:
    for at, part in enumerate(parts):
        if isinstance(part, str):
            yield part
            continue
        after = parts[at + 1 : at + 3]
        mark = "?" if after and isinstance(after[0], Field) else ""  # only a query may follow without a separator
        literal = after[len(mark) :][:1]
        yield _LocatedField(part, mark, str(literal[0])[0] if literal else "")


def _groups(parts: Iterable[str | _LocatedField]) -> Iterator[list[str | _LocatedField]]:
    """Groups of parts, each up to a quote or a control character, which no value contains."""
    group: list[str | _LocatedField] = []
    for part in parts:
        group.append(part)
        if isinstance(part, str) and _END_OF_VALUES.search(part):
            yield group
            group = []
    yield group


def _group_patterns(parts: list[str | _LocatedField]) -> list[str]:
    """
    A pattern for each of the parts that are not separated by quotes.

    Here a value with a blank looks like two fields. If only one field may contain blanks, it is what the others leave.
    If several may, blanks are accepted only after a comma, as in lists of addresses; lines with other blanks do not
    match, because they are ambiguous.
    """
    fields = [part for part in parts if isinstance(part, _LocatedField)]
    free = [part for part in fields if part.is_free]
    of_lists = sum(part.field.name.startswith("upstream_") and not part.is_free for part in fields)
    of_free = len(free) if [part.field.name for part in free] == ["user"] else len(free) + of_lists
    # other fields exclude the characters that end free fields, so that they cannot match a part of those
    between = "".join(dict.fromkeys(part.stop for part in free if not part.is_ended))
    return [
        re.escape(part)
        if isinstance(part, str)
        else f"{_empty(part)}({'' if part.field.is_read else '?:'}{_value(part, between, of_free=of_free)})"
        for part in parts
    ]


def _empty(part: _LocatedField) -> str:
    """A pattern for what stands for an empty value: Apache writes an empty user as two quotes (`log_remote_user`)."""
    is_user = part.field.name == "user" and part.field.written.startswith("%")
    return rf'(?:""(?={re.escape(part.stop)}|\Z))?' if is_user else ""


def _value(part: _LocatedField, between: str, *, of_free: int) -> str:
    """A pattern for the value of a field, up to what follows it."""
    field, mark, stop = part
    if field.kind == "clf":
        return r'[^]["]{0,40}'  # bounded, to limit backtracking in long lines with many brackets
    if not part.is_free or (field.name == "user" and of_free > 1):
        return _value_without_blanks(part, between)
    if of_free > 1:
        word = _without(mark + stop + between + '"')
        return f"{word}(?:(?<=,) {word})*+" if " " in stop + between else word
    if field.name == "user":  # servers do not escape blanks in user names; a dash beside one is another field
        return "-|(?!- ).*?(?<! -)"
    if not stop:
        return ".*?"
    word = _without(mark + stop + '"')
    return word if part.is_ended else f"{word}(?:{re.escape(stop)}{word})*?"


def _value_without_blanks(part: _LocatedField, between: str) -> str:
    field, mark, stop = part
    if _NUMBER.fullmatch(field.name):
        return r"-|\d+(?:\.\d+)?"
    if field.kind == "own":
        words = field.written.count(" ") + 1 if stop in {"", " "} else 1
        return " ".join([_without(f"[{stop or ' '}")] * words)  # a time has no bracket, a name before it may have one
    others = "".join(dict.fromkeys(f" {mark}{stop}{between}"))
    if field.kind == "query":
        return rf"(?:\?{_without(others)})?"
    if field.name.startswith("upstream_"):
        word = _other_than(others)
        return f"{word}*+(?:(?<=,) {word}++| : {word}++)*+"  # one value for each upstream server
    if stop == ":":  # addresses may contain colons
        return _other_than(between, r"\s") + "*?"
    word = _without(others)
    # a client may be a list, as nginx writes $proxy_add_x_forwarded_for
    return f"{word}(?:(?<=,) {word})*+" if field.name == "client" and stop == " " else word


def _without(stops: str) -> str:
    """A pattern for the longest text without some characters, except escaped ones."""
    if '"' not in stops:
        return f"{_other_than(stops)}*+"
    other = _other_than("\\" + stops)
    return rf"{other}*+(?:\\.{other}*+)*+"


def _other_than(characters: str, classes: str = "") -> str:
    """A pattern for one byte at which none of some characters begins, and which is in none of some classes."""
    ascii_only = "".join(filter(str.isascii, characters))
    byte = f"[^{re.escape(ascii_only)}{classes}]" if ascii_only or classes else "."
    beyond = [character for character in characters if not character.isascii()]
    return f"(?:(?!{'|'.join(beyond)}){byte})" if beyond else byte


def _clf_ms(text: bytes) -> int:
    found = _CLF_TIME.fullmatch(text)
    if found is None:
        raise ValueError("not in the format of the server")
    day, month, year, hour, minute, second, zone_hours, zone_minutes = found.groups()
    written = datetime(int(year), MONTH_NUMBERS[month], int(day), int(hour), int(minute), tzinfo=UTC)
    offset = timedelta(hours=int(zone_hours), minutes=int(zone_hours[:1] + zone_minutes))
    return in_calendar(milliseconds_at(written - offset, int(second)))


def _epoch_ms(digits: int) -> ReadTime:
    """A parser of times since 1970 in units of 10 to the power of minus `digits` seconds."""

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
