"""The grok decorator: its options, and what it does to an event."""

from collections.abc import Callable, Mapping
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from decorators.grok.expansion import Capture, expanded
from decorators.grok.library import LIBRARY
from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.notation import shown_start
from ingest.decorating.choices import FailureAction
from ingest.expressions import ExpressionSyntaxError, Match, read_number, write_number


class _Beside(NamedTuple):
    """A definition with all there are, which it may refer to."""

    name: str
    text: str
    all: Mapping[str, str]


def _beside_each_other(definitions: object) -> object:
    if not isinstance(definitions, dict) or not all(isinstance(text, str) for text in definitions.values()):
        return definitions
    return {name: _Beside(name, text, definitions) for name, text in definitions.items()}


def _definition(value: object) -> object:
    if not isinstance(value, _Beside):
        return value
    if not value.name.replace("-", "").replace("_", "").isalnum():
        message = '"{name}" cannot be the name of a pattern; it has letters, digits, _ and -'
        raise PydanticCustomError("bad_pattern", message, {"name": value.name})
    _check(value.text, value.all)
    return value.text


def _pattern(text: str, info: ValidationInfo) -> str:
    if "definitions" in info.data:  # else they are wrong themselves
        _check(text, info.data["definitions"])
    return text


def _check(text: str, definitions: Mapping[str, str]) -> None:
    try:
        expanded(text, {**LIBRARY, **definitions})
    except ExpressionSyntaxError as problem:
        raise PydanticCustomError(
            "bad_pattern",
            "{problem}",
            {"column": problem.column, "problem": problem.message, "caret": problem.caret},
        ) from problem


class GrokSettings(Settings):
    """Options of the grok decorator."""

    definitions: Annotated[
        dict[str, Annotated[str, BeforeValidator(_definition)]], BeforeValidator(_beside_each_other)
    ] = option(
        "Patterns of your own, by name; one named as a known pattern takes its place.",
        default={},
        example={"QUEUE": "[0-9A-F]{10,11}"},
    )
    patterns: list[Annotated[str, AfterValidator(_pattern)]] = option(
        "Tried in this order; the first that is found counts. A regular expression in which `%{NAME}` stands for the "
        "pattern of that name, `%{NAME:attribute}` captures what it matched, and `%{NAME:attribute:type}` checks that "
        "it is an int, long, float, double or boolean and writes it in one way.",
        example=["%{IPORHOST:client} %{WORD:method} %{URIPATHPARAM:path} %{INT:bytes:int}"],
        min_length=1,
    )
    source: str | None = option("Attribute that is searched; the body when left out.", default=None, example="message")
    prefix: str = option("Put before every attribute name.", default="", example="2hb_web:")
    anchored: bool = option(
        "True: the pattern must match the whole text, except for a line feed at its end. False: it is searched in "
        "the text, and `^` and `$` match the ends of the text.",
        default=False,
    )
    on_no_match: FailureAction = option(
        "A text that no pattern matches, or an absent attribute: the event fails (`error`), passes as it is "
        "(`keep`), or is dropped (`drop`).",
        default="error",
        strict=False,
    )

    @property
    def other_names(self) -> str | None:
        """All names begin with `prefix`."""
        return self.prefix


class _Searched(NamedTuple):
    """
    One pattern.

    Attributes:
        captures: of its groups, with the prefix in their names.
        is_plain: no capture has a type, and no two have one name.
    """

    search: Callable[[bytes], Match | None]
    captures: tuple[Capture, ...]
    names: tuple[str, ...]
    is_plain: bool


class Grok(Decorator[GrokSettings]):
    """
    Find named patterns in a text and put what they matched into attributes.

    What stands around the tags is a regular expression as in `regex`, on bytes; `(?<attribute>…)` captures too, other
    groups only hold together, and `(?i)` or `(?s)` may stand first. Names with a colon are quoted: `%{IP:'2hb_a:ip'}`.
    A group that took no part in the match sets nothing; of several captures of one name the last that took part counts.
    Where no known pattern is needed, take `regex`.

    An `int` or `long` becomes digits alone (`+007` is `7`), a `float` or `double` has no exponent, a `boolean` is
    `true` or `false`; values stay text, and a sink's encodings make them binary. A pattern that begins with `^`, or is
    `anchored`, fails much faster, since it is tried at one position instead of at each.

    Known patterns: BASE10NUM, BASE16FLOAT, BASE16NUM, CISCOMAC, COMBINEDAPACHELOG, COMMONAPACHELOG, COMMONMAC, CRONLOG,
    CRON_ACTION, DATA, DATE, DATESTAMP, DATESTAMP_EVENTLOG, DATESTAMP_OTHER, DATESTAMP_RFC2822, DATESTAMP_RFC822,
    DATE_EU, DATE_US, DAY, EMAILADDRESS, EMAILLOCALPART, GREEDYDATA, HOSTNAME, HOSTPORT, HOUR, HTTPD20_ERRORLOG,
    HTTPD24_ERRORLOG, HTTPDATE, HTTPDERROR_DATE, HTTPDUSER, HTTPD_COMBINEDLOG, HTTPD_COMMONLOG, HTTPD_ERRORLOG, INT, IP,
    IPORHOST, IPV4, IPV6, ISO8601_SECOND, ISO8601_TIMEZONE, JAVACLASS, JAVAFILE, JAVAMETHOD, JAVASTACKTRACEPART,
    LOGLEVEL, MAC, MINUTE, MONTH, MONTHDAY, MONTHNUM, MONTHNUM2, NONNEGINT, NOTSPACE, NUMBER, PATH, POSINT, PROG, QS,
    QUOTEDSTRING, SECOND, SPACE, SYSLOG5424BASE, SYSLOG5424LINE, SYSLOG5424PRI, SYSLOG5424PRINTASCII, SYSLOG5424SD,
    SYSLOGBASE, SYSLOGBASE2, SYSLOGFACILITY, SYSLOGHOST, SYSLOGLINE, SYSLOGPROG, SYSLOGTIMESTAMP, TIME,
    TIMESTAMP_ISO8601, TTY, TZ, UNIXPATH, URI, URIHOST, URIPARAM, URIPATH, URIPATHPARAM, URIPROTO, URIQUERY, URN, USER,
    USERNAME, UUID, WINDOWSMAC, WINPATH, WORD, YEAR.

    Source: ours; Logstash's grok filter, whose names of patterns it keeps.
    """

    kind = "grok"
    examples = (
        Example(
            "a line of a web server",
            settings="{patterns: ['%{COMBINEDAPACHELOG}'], prefix: '2hb_web:'}",
            body='203.0.113.9 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "-" "Mozilla/4.08"',
            after={
                "2hb_web:clientip": "203.0.113.9",
                "2hb_web:auth": "frank",
                "2hb_web:timestamp": "10/Oct/2000:13:55:36 -0700",
                "2hb_web:verb": "GET",
                "2hb_web:request": "/a.gif",
                "2hb_web:httpversion": "1.0",
                "2hb_web:response": "200",
                "2hb_web:bytes": "2326",
                "2hb_web:agent": "Mozilla/4.08",
            },
        ),
        Example(
            "patterns of your own, tried one after the other, and types",
            settings="{definitions: {QUEUE: '[0-9A-F]{10,11}'}, patterns: ['^%{QUEUE:queue}: removed', "
            "'^%{QUEUE:queue}: .*size=%{INT:size:int}']}",
            body="BEF25A72965: from=<a@example.com>, size=+0302",
            after={"queue": "BEF25A72965", "size": "302"},
        ),
        Example("no pattern is found", settings="{patterns: ['%{IP:ip}']}", body="it works", error="no_match"),
        Example(
            "a value not of its type",
            settings="{patterns: ['took %{NOTSPACE:took:int}']}",
            body="took 5ms",
            error="not_a_number",
        ),
        Example(
            "a word that is neither true nor false",
            settings="{patterns: ['ok=%{WORD:ok:boolean}']}",
            body="ok=maybe",
            error="not_a_bool",
        ),
        Example("a text without a match is dropped", "{patterns: ['%{IP}'], on_no_match: drop}", "ok", dropped=True),
    )

    def __init__(self, settings: GrokSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        patterns = {**LIBRARY, **settings.definitions}
        self._patterns = tuple(_searched(text, patterns, settings) for text in settings.patterns)

    @property
    def drop_reason(self) -> str:
        """Only a text without a match is dropped."""
        return "no_match"

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        if text is not None:
            if self.settings.anchored:
                text = text.removesuffix(b"\n")
            for pattern in self._patterns:
                match = pattern.search(text)
                if match is not None:
                    event.update(_captured(pattern, match))
                    return True
        return self.settings.on_no_match.keeps_or_refuses(self._no_match, event)

    def _no_match(self, event: Event) -> DecorateError:
        text = event.text_of(self._source, "to search")
        return DecorateError(f"no pattern matches {shown_start(text)}", code="no_match")


def _searched(text: str, patterns: Mapping[str, str], settings: GrokSettings) -> _Searched:
    pattern, captures = expanded(text, patterns)
    captures = tuple(capture._replace(attribute=settings.prefix + capture.attribute) for capture in captures)
    names = tuple(capture.attribute for capture in captures)
    is_plain = len(set(names)) == len(names) and not any(capture.type for capture in captures)
    return _Searched(pattern.fullmatch if settings.anchored else pattern.search, captures, names, is_plain)


def _captured(pattern: _Searched, match: Match) -> dict[str, bytes]:
    values = match.groups()
    if pattern.is_plain and None not in values:
        return dict(zip(pattern.names, values, strict=True))
    if pattern.is_plain:
        return {name: value for name, value in zip(pattern.names, values, strict=True) if value is not None}
    return {
        capture.attribute: _of_type(value, capture) if capture.type else value
        for capture, value in zip(pattern.captures, values, strict=True)
        if value is not None
    }


def _of_type(value: bytes, capture: Capture) -> bytes:
    """
    A value as its type writes it.

    Raises:
        DecorateError: it is no value of the type.
    """
    match capture.type:
        case "int" | "long":
            number = read_number(value)
            if isinstance(number, int):
                return write_number(number)
        case "float" | "double":
            number = read_number(value.replace(b".", b"0.", 1) if value.lstrip(b"+-").startswith(b".") else value)
            if number is not None:
                return write_number(number)
        case "boolean":
            if (word := value.lower()) in {b"true", b"false"}:
                return word
        case _:
            return value
    raise DecorateError(
        f'"{capture.attribute}" is not of type {capture.type}: {shown_start(value)}',
        code="not_a_bool" if capture.type == "boolean" else "not_a_number",
    )
