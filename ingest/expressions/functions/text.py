"""Functions on text. Text is UTF-8; bytes that are not valid UTF-8 are kept unchanged."""

from collections.abc import Callable

import orjson

from ingest.api.event import Event
from ingest.api.growth import check_grown
from ingest.expressions.functions.function import Function, FunctionExample, Kind, Parameter
from ingest.expressions.pattern import Pattern
from ingest.expressions.texts import bytes_of, characters_of, lower, replacer, upper

_FROM_END = -(2**31)  # least index that counts from the end
_MAX_WIDTH = 4096  # characters; a larger width is a mistake

Change = Callable[[bytes], bytes]


def _reverse(value: bytes) -> bytes:
    return value[::-1] if value.isascii() else bytes_of(characters_of(value)[::-1])


def _length(value: bytes) -> int:
    return len(value) if value.isascii() else len(characters_of(value))


def _substring(start: int, length: int | None) -> Change:
    if start < 0:
        return _from_the_end(-start, length)
    stop = None if length is None else start + length

    def cut(value: bytes) -> bytes:
        return value[start:stop] if value.isascii() else bytes_of(characters_of(value)[start:stop])

    return cut


def _from_the_end(count: int, length: int | None) -> Change:
    def cut(value: bytes) -> bytes:
        if value.isascii():
            return value[-count:][:length]
        return bytes_of(characters_of(value)[-count:][:length])

    return cut


def _pad(width: int, fill: bytes, *, left: bool) -> Change:
    filler = characters_of(fill)

    def pad(value: bytes) -> bytes:
        missing = width - _length(value)
        if missing <= 0:
            return value
        padding = bytes_of((filler * missing)[:missing])
        return padding + value if left else value + padding

    return pad


def _replace(old: bytes, new: bytes) -> Change:
    return replacer(old, new)


def _replace_pattern(pattern: Pattern, new: bytes) -> Change:
    return pattern.literal_replacer(new)


def _extract(pattern: Pattern, group: int) -> Callable[[bytes], bytes | None]:
    if group > pattern.groups:
        raise ValueError(f"the pattern has no group {group}, only {pattern.groups}")
    search, search_ascii = pattern.search, pattern.search_ascii

    def extract(value: bytes) -> bytes | None:
        match = search_ascii(value) if value.isascii() else search(value)
        return None if match is None else match[group]

    return extract


def _piece(separator: bytes, index: int) -> Callable[[bytes], bytes | None]:
    if index < 0:

        def from_the_end(value: bytes) -> bytes | None:
            pieces = value.rsplit(separator, -index)
            return pieces[index] if -index <= len(pieces) else None

        return from_the_end

    def piece(value: bytes) -> bytes | None:
        pieces = value.split(separator, index + 1)
        return pieces[index] if index < len(pieces) else None

    return piece


def _default(*values: bytes | None) -> bytes | None:
    for value in values:
        if value:
            return value
    return values[-1]


def _concat(*values: bytes | None) -> bytes:
    return b"".join([value for value in values if value])


def _json(value: bytes | None) -> bytes:
    if value is None:
        return b"null"
    written = orjson.dumps(value.decode("utf-8", "replace"))
    check_grown(len(written), len(value))
    return written


_TEXT = Parameter("text", Kind.VALUE, "the input")
_FILL = Parameter("fill", Kind.TEXT, "text to pad with; blanks if left out", required=False, default=b" ", minimum=1)

FUNCTIONS = (
    Function(
        "lower",
        "The text in lower case.",
        lambda: lower,
        (_TEXT,),
        (
            FunctionExample("%{lower(level)}", "warn", {"level": "WARN"}),
            FunctionExample("%{lower(city)}", "überlingen", {"city": "ÜBERLINGEN"}),
        ),
    ),
    Function(
        "upper",
        "The text in upper case.",
        lambda: upper,
        (_TEXT,),
        (
            FunctionExample("%{upper(level)}", "WARN", {"level": "warn"}),
            FunctionExample("%{upper(%{'2hb_cf:q'})}", "X", {"2hb_cf:q": "x"}),
        ),
    ),
    Function(
        "trim",
        "The text without white space at both ends.",
        lambda: bytes.strip,
        (_TEXT,),
        (FunctionExample("[%{trim(x)}]", "[a b]", {"x": " a b\t\r\n"}), FunctionExample("[%{trim(x)}]", "[]")),
    ),
    Function(
        "reverse",
        "The text with its characters in reverse order; distributes row keys that increase.",
        lambda: _reverse,
        (_TEXT,),
        (
            FunctionExample("%{reverse(id)}", "3210001", {"id": "1000123"}),
            FunctionExample("%{reverse(id)}", "é1", {"id": "1é"}),
        ),
    ),
    Function(
        "length",
        "The number of characters.",
        lambda: _length,
        (_TEXT,),
        (
            FunctionExample("%{length(city)}", "4", {"city": "Köln"}),
            FunctionExample("%{length(body)}", "0"),
        ),
        gives_number=True,
    ),
    Function(
        "byte_length",
        "The number of bytes.",
        lambda: len,
        (_TEXT,),
        (
            FunctionExample("%{byte_length(city)}", "5", {"city": "Köln"}),
            FunctionExample("%{byte_length('')}", "0"),
        ),
        gives_number=True,
    ),
    Function(
        "substring",
        "A part of the text, in characters; empty past the end.",
        _substring,
        (
            _TEXT,
            Parameter("start", Kind.INTEGER, "first character, from 0; from the end if negative", minimum=_FROM_END),
            Parameter("length", Kind.INTEGER, "number of characters; to the end if left out", required=False),
        ),
        (
            FunctionExample("%{substring(id, 2, 3)}", "cde", {"id": "abcdef"}),
            FunctionExample("%{substring(id, 4)}", "ef", {"id": "abcdef"}),
            FunctionExample("%{substring(card, -4)}", "1111", {"card": "4111111111111111"}),
            FunctionExample("%{substring(id, 9)}", "", {"id": "abcdef"}),
        ),
    ),
    Function(
        "replace",
        "The text with every occurrence of a text replaced by another one.",
        _replace,
        (
            _TEXT,
            Parameter("old", Kind.TEXT, "text to replace", minimum=1),
            Parameter("new", Kind.TEXT, "replacement"),
        ),
        (
            FunctionExample("%{replace(path, '/', '.')}", "a.b.c", {"path": "a/b/c"}),
            FunctionExample("%{replace(path, '/', '')}", "abc", {"path": "a/b/c"}),
        ),
    ),
    Function(
        "replace_pattern",
        "The text with every match of a pattern replaced by a literal text. See [patterns](#patterns).",
        _replace_pattern,
        (
            _TEXT,
            Parameter("pattern", Kind.PATTERN, "pattern to replace"),
            Parameter("new", Kind.TEXT, "replacement"),
        ),
        (
            FunctionExample("%{replace_pattern(url, '[0-9]+', 'N')}", "/user/N/N", {"url": "/user/17/3"}),
            FunctionExample(r"%{replace_pattern(url, 'u(.)', '\1')}", r"\1er", {"url": "user"}),
        ),
    ),
    Function(
        "extract",
        "The first match of a pattern, or one of its groups; absent without a match. See [patterns](#patterns).",
        _extract,
        (
            _TEXT,
            Parameter("pattern", Kind.PATTERN, "pattern to search for"),
            Parameter("group", Kind.INTEGER, "group; the whole match if left out", required=False, default=0),
        ),
        (
            FunctionExample("%{extract(url, '[0-9]+')}", "17", {"url": "/user/17/3"}),
            FunctionExample("%{extract(url, '/([0-9]+)$', 1)}", "3", {"url": "/user/17/3"}),
            FunctionExample("%{default(extract(url, 'x'), 'none')}", "none", {"url": "/user"}),
            FunctionExample("%{extract(city, '^.{2}')}", "Kö", {"city": "Köln"}),
        ),
    ),
    Function(
        "piece",
        "One piece of a text between separators; absent if there are fewer pieces.",
        _piece,
        (
            _TEXT,
            Parameter("separator", Kind.TEXT, "text between two pieces", minimum=1),
            Parameter("index", Kind.INTEGER, "index of the piece, from 0; -1 is the last", minimum=_FROM_END),
        ),
        (
            FunctionExample("%{piece(host, '.', 0)}", "web1", {}, lambda: Event(b"", host="web1.example.com")),
            FunctionExample("%{piece(path, '/', -1)}", "app.log", {"path": "/var/log/app.log"}),
            FunctionExample("[%{piece(x, ':', 5)}]", "[]", {"x": "a:b"}),
        ),
    ),
    Function(
        "default",
        "The first value that is neither absent nor empty, else the last value.",
        lambda: _default,
        (
            Parameter("value", Kind.VALUE, "first choice"),
            Parameter("other", Kind.VALUE, "next choice", repeated=True),
        ),
        (
            FunctionExample("%{default(user, 'nobody')}", "nobody"),
            FunctionExample("%{default(user, login, 'nobody')}", "ann", {"login": "ann"}),
            FunctionExample("%{default(user, 'nobody')}", "bob", {"user": "bob"}),
        ),
        lenient=True,
    ),
    Function(
        "concat",
        "All values concatenated; absent ones are empty.",
        lambda: _concat,
        (Parameter("value", Kind.VALUE, "a part", repeated=True),),
        (
            FunctionExample("%{concat(a, '-', b)}", "1-2", {"a": "1", "b": "2"}),
            FunctionExample("%{lower(concat(a, '-', b))}", "x-", {"a": "X"}),
        ),
        lenient=True,
    ),
    Function(
        "json",
        "The text as a string of JSON, with its quotes and escapes; `null` if it is absent. A byte that is not UTF-8 "
        "becomes \ufffd.",
        lambda: _json,
        (_TEXT,),
        (
            FunctionExample("%{json(url)}", r'"say \"hi\" \\ bye"', {"url": 'say "hi" \\ bye'}),
            FunctionExample('{"url":%{json(url)},"n":%{n}}', '{"url":null,"n":7}', {"n": "7"}),
            FunctionExample("%{json(n)}", '"7"', {"n": "7"}),
        ),
        lenient=True,
    ),
    Function(
        "pad_left",
        "The text padded on the left to a width; longer text is unchanged.",
        lambda width, fill: _pad(width, fill, left=True),
        (
            _TEXT,
            Parameter("width", Kind.INTEGER, "characters in all", maximum=_MAX_WIDTH),
            _FILL,
        ),
        (
            FunctionExample("%{pad_left(id, 5, '0')}", "00042", {"id": "42"}),
            FunctionExample("%{pad_left(id, 1, '0')}", "42", {"id": "42"}),
        ),
    ),
    Function(
        "pad_right",
        "The text padded on the right to a width; longer text is unchanged.",
        lambda width, fill: _pad(width, fill, left=False),
        (
            _TEXT,
            Parameter("width", Kind.INTEGER, "characters in all", maximum=_MAX_WIDTH),
            _FILL,
        ),
        (
            FunctionExample("[%{pad_right(id, 5)}]", "[ab   ]", {"id": "ab"}),
            FunctionExample("%{pad_right(id, 5, '.-')}", "ab.-.", {"id": "ab"}),
        ),
    ),
)
