"""Parse header lines, as in HTTP and mail, into attributes."""

import binascii
import re
from enum import StrEnum
from typing import NamedTuple

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes, shown_start
from ingest.decorating.choices import OnRepeated
from ingest.formats import byte_order_marks
from ingest.formats.byte_numbers import LF
from ingest.formats.keyed import KeyedSettings, Names

_LINE = re.compile(rb"\r?\n|([!-9;-~]+)[ \t]*:([^\n]*+(?:\n[ \t][^\n]*+)*+)\n?")
_BLANKS = b" \t\r"
_WORD = re.compile(rb"=\?([A-Za-z0-9_.:-]+)(?:\*[A-Za-z0-9-]*)?\?([BbQq])\?([^?\s]*)\?=")
_WORDS = re.compile(rb"%b(?:[ \t]+%b)*" % ((re.sub(rb"\((?!\?)", rb"(?:", _WORD.pattern),) * 2))
_CHARSETS = {
    name: name
    for name in [
        *("us-ascii", "utf-8", "utf-16", "koi8-r", "koi8-u", "gb2312", "gbk", "gb18030", "big5", "euc-jp", "shift_jis"),
        *("iso-2022-jp", "euc-kr", "ks_c_5601-1987", "tis-620"),
        *(f"iso-8859-{part}" for part in range(1, 17) if part != 12),  # noqa: PLR2004 - part 12 does not exist
        *(f"windows-125{page}" for page in range(9)),
    ]
} | {
    "utf8": "utf-8",
    "ascii": "us-ascii",
    "latin1": "iso-8859-1",
    "sjis": "shift_jis",
    "x-sjis": "shift_jis",
    "x-gbk": "gbk",
    "ks_c_5601": "ks_c_5601-1987",
    "euc_jp": "euc-jp",
    "euc_kr": "euc-kr",
    **{f"iso-8859-{part}-{order}": f"iso-8859-{part}" for part in (6, 8) for order in "ie"},  # RFC 1556: the direction
    **{f"iso8859-{part}": f"iso-8859-{part}" for part in (1, 2, 5, 7, 9, 15)},
    **{f"cp125{page}": f"windows-125{page}" for page in range(9)},
}  # not all codecs of Python: some are slow, and Python caches every name that is looked up


class BadHeaderLineError(DecorateError):
    """A header line is not a name, a colon and a value, with on_bad_line: error."""

    code = "bad_header_line"
    remedy = "Choose another `on_bad_line`, or correct the producer."


class Case(StrEnum):
    """The case of attribute names."""

    LOWER = "lower"
    KEEP = "keep"


class OnBadLine(StrEnum):
    """The action for a line that is not a header."""

    ERROR = "error"
    SKIP = "skip"


class HeadersSettings(KeyedSettings):
    """Options of the headers decorator."""

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="request")
    only: list[str] | None = option(
        "Only these headers become attributes, in any case; all when left out.",
        default=None,
        example=["Host", "User-Agent"],
        min_length=1,
    )
    case: Case = option(
        "Convert names to `lower` case, as headers are case-insensitive, or leave them unchanged (`keep`).",
        default="lower",
        strict=False,
    )
    on_repeated: OnRepeated = option(
        "If a header repeats, join its values with the separator (`join`), or use the `first` or `last` one.",
        default="join",
        strict=False,
    )
    separator: str = option("Separator between joined values.", default=", ", example="; ")
    first_line_attribute: str | None = option(
        "Attribute that receives the first line, which is then the request or status line of HTTP and not a header.",
        default=None,
        example="request_line",
    )
    rest_attribute: str | None = option(
        "Attribute that receives the text after the empty line; when left out, that text is ignored.",
        default=None,
        example="content",
    )
    decode_words: bool = option(
        "Decode encoded words of mail, such as `=?iso-8859-1?Q?caf=E9?=`, to UTF-8.", default=False
    )
    on_bad_line: OnBadLine = option(
        "A line that is not a header: the event fails (`error`), or the line is skipped (`skip`).",
        default="error",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes that are named, and those of `only` unless their case is unknown."""
        headers = () if self.case is Case.KEEP else (self.prefix + key.lower() for key in self.only or ())
        return frozenset(name for name in (self.first_line_attribute, self.rest_attribute, *headers) if name)

    @property
    def other_names(self) -> str | None:
        """With `case: keep`, a header in `only` may have any case."""
        return self.prefix if self.case is Case.KEEP else super().other_names


class _Parts(NamedTuple):
    """The parts of a text."""

    first_line: bytes
    fields: list[tuple[bytes, bytes]]
    rest: bytes


class Headers(Decorator[HeadersSettings]):
    """
    Set an attribute for each line `Name: value`, up to the first empty line or the end.

    Lines end with LF or CRLF. A line that starts with a space or tab continues the previous line, joined by one space.
    White space around names and values, and a byte order mark before the first line, are removed. An encoded word in an
    unknown charset, or a damaged one, stays unchanged; known are also names that mailers write and no registry has,
    such as `utf8` and `cp1252`. The headers of a Kafka record are attributes already; to set the event's host from one
    of them, use `host`.

    Source: own design; RFC 9112 and RFC 9110 for HTTP, RFC 5322 and RFC 2047 for mail.
    """

    kind = "headers"
    examples = (
        Example(
            "an HTTP request",
            settings="{prefix: '2hb_http:', first_line_attribute: '2hb_http:request', "
            "rest_attribute: '2hb_http:content'}",
            body="POST /buy HTTP/1.1\r\nHost: www.example.com\r\nAccept: text/html\r\nAccept: text/plain\r\n\r\nid=7",
            after={
                "2hb_http:request": "POST /buy HTTP/1.1",
                "2hb_http:host": "www.example.com",
                "2hb_http:accept": "text/html, text/plain",
                "2hb_http:content": "id=7",
            },
        ),
        Example(
            "mail, with a folded line and an encoded word",
            settings="{case: keep, decode_words: true, only: [subject, to]}",
            body="From: =?utf-8?Q?J=C3=B6rg?= <j@example.com>\nSubject: =?ISO-8859-1?B?Y2Fm6Q==?=\n at noon\n"
            "To: a@example.com\n\nSee you: there",
            after={"Subject": "café at noon", "To": "a@example.com"},
        ),
        Example(
            "other lines, with `on_bad_line: skip`",
            settings="{on_bad_line: skip, on_repeated: last}",
            body="From a@example.com Sat Nov 21\nX-Try: 1\nX-Try: 2\n",
            after={"x-try": "2"},
        ),
        Example("a line without a colon", body="Host: a\nit works\n", error="bad_header_line"),
    )

    def __init__(self, settings: HeadersSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._separator = name_to_bytes(settings.separator)
        self._decode_words = settings.decode_words
        read = bytes.lower if settings.case is Case.LOWER else bytes
        self._names = Names(settings.prefix, settings.only, read=read, normalize=bytes.lower)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self._source, "to read headers from").removeprefix(byte_order_marks.UTF8)
        parts = self._parts(text)
        found = self._attributes(parts.fields)
        if self.settings.first_line_attribute is not None:
            found[self.settings.first_line_attribute] = parts.first_line
        if self.settings.rest_attribute is not None:
            found[self.settings.rest_attribute] = parts.rest
        event.update(found)
        return True

    def _parts(self, text: bytes) -> _Parts:
        first_line, at = b"", 0
        if self.settings.first_line_attribute is not None:
            at = text.find(b"\n") + 1 or len(text)
            first_line = text[:at].rstrip(b"\r\n")
        fields = []
        match = _LINE.match
        while at < len(text):
            found = match(text, at)
            if found is None:
                at = self._after_bad_line(text, at)
                continue
            at = found.end()
            name, value = found.groups()
            if name is None:
                break
            fields.append((name, value))
        return _Parts(first_line, fields, text[at:])

    def _after_bad_line(self, text: bytes, at: int) -> int:
        end = text.find(b"\n", at) + 1 or len(text)
        if self.settings.on_bad_line is OnBadLine.ERROR:
            raise BadHeaderLineError(
                f"{shown_start(text[at:end])} is not a header line: it needs a name, a colon and a value"
            )
        return end

    def _attributes(self, fields: list[tuple[bytes, bytes]]) -> dict[str, bytes]:
        names = self._names.known
        found: dict[str, bytes] = {}
        repeated: dict[str, list[bytes]] = {}
        for key, raw in fields:
            try:
                name = names[key]
            except KeyError:
                name = self._names[key]
            if not name:
                continue
            value = raw.strip(_BLANKS) if LF not in raw else _unfolded(raw)
            if self._decode_words and b"=?" in value:
                value = _WORDS.sub(_decoded_words, value)
            if name in found:
                repeated.setdefault(name, [found[name]]).append(value)
            else:
                found[name] = value
        for name, values in repeated.items():
            found[name] = self._one_of(values)
        return found

    def _one_of(self, values: list[bytes]) -> bytes:
        match self.settings.on_repeated:
            case OnRepeated.FIRST:
                return values[0]
            case OnRepeated.LAST:
                return values[-1]
            case OnRepeated.JOIN:
                return self._separator.join(values)


def _unfolded(value: bytes) -> bytes:
    return b" ".join([line for part in value.split(b"\n") if (line := part.strip(_BLANKS))])


def _decoded_words(found: re.Match[bytes]) -> bytes:
    """Decode adjacent words; the white space between two decoded words is removed (RFC 2047, 6.2)."""
    text = found[0]
    pieces: list[bytes] = []
    end = 0
    before = None
    for word in _WORD.finditer(text):
        plain = _decoded(word)
        if before is None or plain is None:
            pieces.append(text[end : word.start()])
        pieces.append(word[0] if plain is None else plain)
        before, end = plain, word.end()
    return b"".join(pieces)


def _decoded(word: re.Match[bytes]) -> bytes | None:
    charset, encoding, text = word.groups()
    codec = _CHARSETS.get(charset.decode("ascii").lower())
    if codec is None:
        return None
    try:
        data = binascii.a2b_base64(text) if encoding in b"Bb" else binascii.a2b_qp(text, header=True)
        return data.decode(codec).encode()
    except (ValueError, LookupError):
        return None
