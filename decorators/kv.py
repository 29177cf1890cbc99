"""Parse pairs of keys and values, as in logfmt, into attributes."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.api.notation import shown_start
from ingest.decorating.choices import FailureAction, WhiteSpace
from ingest.formats import byte_order_marks
from ingest.formats.byte_numbers import BACKSLASH
from ingest.formats.keyed import KeyedSettings, Names

_LINE_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_KEY = 1  # the first group of a pair; those of values follow
_LTSV = ("\t", ":")
_BRACKETS = ("()", "[]", "<>")
_WHITE_SPACE = (
    " \t\n\r\v\f\x1c\x1d\x1e\x1f"  # auditd writes 1D before the fields that it adds (`log_format = ENRICHED`)
)


class BadPairsError(DecorateError):
    """The text has no pair of key and value, or a part of it is not a pair, such as an unclosed quote."""

    code = "bad_pairs"
    dropped = "The text has no key-value pairs, with `on_invalid: drop` of `kv`."
    remedy = "Choose another `on_invalid` of `kv`, or correct its separators; then replay the dead letters."


class BareKeyError(DecorateError):
    """A key of the text has no value, with on_bare: error."""

    code = "bare_key"
    remedy = "Choose another `on_bare`, or correct the producer."


class OnBare(StrEnum):
    """The action for a key without a value."""

    TRUE = "true"
    EMPTY = "empty"
    SKIP = "skip"
    ERROR = "error"


def _one_character(text: str) -> str:
    if len(text) != 1 or text in '"\\' or not text.isascii():
        raise PydanticCustomError(
            "bad_character", '"{text}" is not one ASCII character other than quote and backslash', {"text": text}
        )
    return text


Character = Annotated[str, AfterValidator(_one_character)]


class Escapes(StrEnum):
    """What a backslash escapes in a quoted value."""

    QUOTES = "quotes"
    LOGFMT = "logfmt"
    NONE = "none"


def _quote_characters(text: str | None) -> str | None:
    for letter in text or "":
        if not (letter.isascii() and letter.isprintable()) or letter.isalnum() or letter in " \\":
            raise PydanticCustomError("bad_character", '"{letter}" cannot be a quote', {"letter": letter})
    return text


class KvSettings(KeyedSettings):
    """Options of the kv decorator."""

    separator: Character | None = option(
        "Character between two pairs, with or without white space around it; white space when left out.",
        default=None,
        example="&",
    )
    assign: Character = option("Character between a key and its value.", default="=", example=":")
    quotes: Annotated[str | None, AfterValidator(_quote_characters)] = option(
        "Characters that may surround a value; an empty text is none. Double quotes when left out, none for LTSV.",
        default=None,
        example="\"'",
    )
    escapes: Escapes = option(
        "A backslash in a quoted value escapes quotes and backslashes (`quotes`), with n, r and t it is LF, CR and tab "
        "too (`logfmt`), or has no meaning (`none`). Before any other character it is a backslash.",
        default="quotes",
        strict=False,
    )
    include_brackets: bool = option(
        "Round, square and angle brackets surround a value as quotes do, without escapes.", default=False
    )
    whitespace: WhiteSpace | None = option(
        "White space around `assign`, and around `separator`, is skipped (`lenient`) or belongs to keys and values "
        "(`strict`). Strict for LTSV and without a `separator` when left out, where white space ends a value.",
        default=None,
        example="lenient",
        strict=False,
    )
    on_bare: OnBare = option(
        "A key without a value, if the text has other pairs: set it to the text `true` or to an `empty` value, `skip` "
        "it, or fail the event (`error`).",
        default="true",
        strict=False,
    )
    on_invalid: FailureAction = option(
        "Text without a pair, or with a part that is not a pair, such as an unclosed quote, or an absent attribute: "
        "the event fails (`error`), passes unchanged (`keep`), or is dropped (`drop`).",
        default="error",
        strict=False,
    )

    @model_validator(mode="after")
    def _distinct_characters(self) -> Self:
        if self.separator == self.assign:
            raise PydanticCustomError("conflict", "`separator` and `assign` are the same character")
        if {self.separator, self.assign} & set(self.quote_characters):
            raise PydanticCustomError("conflict", "`quotes` has the character of `separator` or `assign`")
        return self

    @property
    def is_ltsv(self) -> bool:
        """Whether these are the characters of LTSV."""
        return (self.separator, self.assign) == _LTSV

    @property
    def quote_characters(self) -> str:
        """The characters that may surround a value."""
        if self.quotes is not None:
            return self.quotes
        return "" if self.is_ltsv else '"'

    @property
    def is_lenient(self) -> bool:
        """Whether white space around `assign` is skipped."""
        if self.whitespace is not None:
            return self.whitespace is WhiteSpace.LENIENT
        return self.separator is not None and not self.is_ltsv


class Kv(Decorator[KvSettings]):
    r"""
    Set an attribute for each pair of a key and a value.

    A value may be in double quotes, in which a backslash escapes quotes and backslashes; before any other character it
    is a backslash, as in `CORP\account`. A quote after a backslash closes a value that no other quote closes, as in
    `dir="C:\Data\" next=1`. `quotes`, `escapes`, `include_brackets` and `whitespace` are for other dialects. By
    default, single quotes and brackets have no special meaning: `a='b c'` is the value `'b` and the key `c'`.

    LTSV (`separator: "\t"`, `assign: ":"`) has neither quotes nor escapes, blanks are part of a value, and a value may
    be empty. A line end after the line is removed.

    A key has no quotes: text with a quote that neither begins a value nor is inside of one is invalid, as in `a=b"c
    d"`.

    White space between pairs includes the separators of ASCII (1C to 1F), of which auditd writes 1D. Text without a
    single pair, or with a part that is not a pair, such as an unclosed quote, is invalid; see `on_invalid`. If a key
    repeats, its last value wins. A byte order mark before the text is ignored; keys and values are otherwise unchanged
    bytes.

    Source: own design; logfmt as Heroku's router writes it, with the keys of kr/logfmt, which have no quotes; LTSV as
    ltsv.org defines it. `include_brackets` and `whitespace` are as in Logstash's kv filter, and `whitespace` also as in
    Vector's parse_key_value.
    """

    kind = "kv"
    examples = (
        Example(
            "a line of logfmt",
            settings="{prefix: '2hb_app:'}",
            body='level=info msg="it \\"works\\"" took=5ms cached',
            after={
                "2hb_app:level": "info",
                "2hb_app:msg": 'it "works"',
                "2hb_app:took": "5ms",
                "2hb_app:cached": "true",
            },
        ),
        Example(
            "some keys of an attribute",
            settings="{source: query, separator: '&', only: [q, page]}",
            attributes={"query": "q=boots&page=2&sort=asc"},
            after={"q": "boots", "page": "2"},
        ),
        Example("a quote that is not closed", body='msg="it', error="bad_pairs"),
        Example("no pairs at all", body="it works", error="bad_pairs"),
        Example("an unclosed quote, with `on_invalid: keep`", settings="{on_invalid: keep}", body='level=info msg="it'),
        Example(
            "a backslash that is no escape",
            body='user="CORP\\account" dir="C:\\Data\\" next=1',
            after={"user": "CORP\\account", "dir": "C:\\Data\\", "next": "1"},
        ),
        Example(
            "single quotes around pairs, as auditd writes them",
            settings="""{quotes: "\\"'"}""",
            body="""uid=0 msg='op=login acct="ann"'""",
            after={"uid": "0", "msg": 'op=login acct="ann"'},
        ),
        Example(
            "blanks around the equals sign, and brackets",
            settings="{whitespace: lenient, include_brackets: true}",
            body="tags = [a b] n = 1",
            after={"tags": "a b", "n": "1"},
        ),
        Example(
            "LTSV",
            settings='{separator: "\\t", assign: ":"}',
            body='host:10.0.0.1\treferer:\tua:"x" y',
            after={"host": "10.0.0.1", "referer": "", "ua": '"x" y'},
        ),
        Example("single quotes have no special meaning", body="msg='it works'", after={"msg": "'it", "works'": "true"}),
        Example("an absent attribute", settings="{source: query}", error="no_attribute"),
        Example(
            "a key without a value, with `on_bare: error`", settings="{on_bare: error}", body="cached", error="bare_key"
        ),
    )

    def __init__(self, settings: KvSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        pair = _Pair(settings)
        self._match, self._escapes = pair.match, pair.escapes
        self._names = Names(settings.prefix, settings.only)
        self._is_line = settings.is_ltsv
        self._actions = dict.fromkeys(("bad_pairs", "no_attribute"), settings.on_invalid)
        self._bare = {OnBare.TRUE: b"true", OnBare.EMPTY: b""}.get(settings.on_bare)

    @property
    def drop_reason(self) -> str:
        """The reason for events whose text is invalid."""
        return BadPairsError.code

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        try:
            text = event.text_of(self._source, "to read pairs from")
            text = text.removeprefix(byte_order_marks.UTF8)
            if self._is_line:
                text = text.removesuffix(b"\n").removesuffix(b"\r")
            found = self._attributes(text)
        except DecorateError as error:
            return self._actions.get(error.code, FailureAction.ERROR).keeps_or_raises(error)
        event.update(found)
        return True

    def _attributes(self, text: bytes) -> dict[str, bytes]:
        find, names, bare, escapes = self._match, self._names.known, self._bare, self._escapes
        found: dict[str, bytes] = {}
        at, has_pair = 0, False
        # not `finditer`: after a part that is not a pair it would search on, which takes quadratic time
        while at < len(text) and (match := find(text, at)) is not None:
            at = match.end()
            group = match.lastindex
            if group is None:
                continue
            key = match[_KEY]
            if group != _KEY:
                has_pair = True
                value = match[group]
                if group in escapes and BACKSLASH in value:
                    value = escapes[group](value)
            elif bare is not None:
                value = bare
            elif self.settings.on_bare is OnBare.ERROR:
                raise BareKeyError(f"the key {shown_start(key)} has no value")
            else:
                continue
            try:
                name = names[key]
            except KeyError:
                name = self._names[key]
            if name:
                found[name] = value
        if at != len(text):
            raise BadPairsError(f"no pair at byte {at}: {shown_start(text[at:])}")
        if not has_pair:
            raise BadPairsError(f"no pair in {shown_start(text)}")
        return found


class _Pair:
    """
    The pattern of a pair.

    Attributes:
        match: matches separators, then a key and a value up to the next separator, or only separators at the end. Its
            last group is the value, or the key if there is no value.
        escapes: for each group of a value with escapes, a function that undoes them.
    """

    def __init__(self, settings: KvSettings) -> None:
        self.escapes: dict[int, Callable[[bytes], bytes]] = {}
        separator, assign = settings.separator, re.escape(settings.assign)
        stop = re.escape(separator or _WHITE_SPACE)
        spaces = re.escape("".join(space for space in _WHITE_SPACE if space != separator))
        gap, blank, around = stop, "", ""
        if settings.is_lenient:
            blank = f"[{spaces}]*"
        if settings.is_lenient and separator is not None:
            gap, around = spaces + stop, blank
        quotes = re.escape(settings.quote_characters)
        values: list[str] = []
        group = _KEY
        for quote in settings.quote_characters:
            forms = _quoted(re.escape(quote), stop, settings.escapes)
            values.append(f"{re.escape(quote)}(?:{'|'.join(forms)})")
            for _ in forms:
                group += 1
                if settings.escapes is not Escapes.NONE:
                    self.escapes[group] = _unescape(quote, settings.escapes)
        if settings.include_brackets:
            values += [rf"\{pair[0]}([^\{pair[1]}]*+)\{pair[1]}" for pair in _BRACKETS]
        values.append(rf"((?:[^{gap}{quotes}](?:[^{stop}]*[^{gap}])?)?)")
        key = rf"([^{gap}{assign}{quotes}](?:[^{stop}{assign}{quotes}]*[^{gap}{assign}{quotes}])?)"
        after = f"{blank}+" if blank else ""  # possessive: backtracking would try a value after each blank
        pair = rf"{key}(?:{blank}{assign}{after}(?:{'|'.join(values)}))?"
        self.match = re.compile(rf"[{gap}]*(?:{pair}{around}(?=[{stop}]|\Z)|\Z)".encode(), re.DOTALL).match


def _quoted(quote: str, stop: str, escapes: Escapes) -> list[str]:
    """Patterns after a quote: up to the first one that is not escaped; up to an escaped one before a separator."""
    if escapes is Escapes.NONE:
        return [rf"([^{quote}]*+){quote}"]
    closed = rf"([^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+){quote}"
    end = rf"{quote}(?:[{stop}]|\Z)"
    return [closed, rf"([^{quote}\\]*+(?:\\(?!{end}).[^{quote}\\]*+)*+\\){quote}"]


def _unescape(quote: str, escapes: Escapes) -> Callable[[bytes], bytes]:
    known = {letter.encode(): letter.encode() for letter in (quote, "\\")}
    if escapes is Escapes.LOGFMT:
        known |= _LINE_ESCAPES
    escaped = re.compile(rb"\\([%b])" % re.escape(b"".join(known)))
    return lambda value: escaped.sub(lambda found: known[found[1]], value)
