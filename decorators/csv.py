"""Parse a line of CSV into attributes."""

import csv
import io
import re
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Self

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.decorating.choices import WhiteSpace
from ingest.decorating.edits import each_once
from ingest.formats import byte_order_marks
from ingest.formats.byte_numbers import CR, LF

_BYTES = "latin-1"  # one character for each byte, so the reader changes no byte

csv.field_size_limit(sys.maxsize)  # an event has its own limit, `max_event_bytes`


class BadCsvError(DecorateError):
    """The text is not a single line of CSV: a quote is not closed, or there are several lines."""

    code = "bad_csv"


class FieldCountError(DecorateError):
    """A line of CSV has more or fewer fields than the decorator has columns."""

    code = "field_count"
    remedy = "Correct `columns` of the decorator, or the producer; then replay the dead letters."


class OnCount(StrEnum):
    """The action for a line whose number of fields differs from the number of columns."""

    ERROR = "error"
    FIT = "fit"


class CsvSettings(Settings):
    """Options of the csv decorator."""

    other_names: ClassVar[None] = None

    columns: list[str] = option(
        "Attribute names of the fields, from the first on; an empty name skips its field.",
        example=["2hb_web:ip", "", "2hb_web:status"],
        min_length=1,
    )
    source: str | None = option("Attribute to read; the body if left out.", default=None, example="line")
    separator: str = option('Character between two fields; "\\t" for TSV.', default=",", min_length=1, max_length=1)
    quote: str | None = option(
        "Character around fields that contain separators, line ends or quotes; quotes inside are doubled. Null: none.",
        default='"',
        min_length=1,
        max_length=1,
    )
    escape: str | None = option(
        "Character before a quote, a separator or itself that is a part of the field, as AWS, Hive and MySQL write it; "
        "before other characters it is itself. None when left out.",
        default=None,
        example="\\",
        min_length=1,
        max_length=1,
    )
    whitespace: WhiteSpace = option(
        "Spaces and tabs around fields, and so before and after quotes, belong to them (`strict`), where a quote after "
        "a space is an ordinary character, or are skipped (`lenient`).",
        default="strict",
        strict=False,
    )
    on_count: OnCount = option(
        "A line with more or fewer fields than columns: the event fails (`error`), or extra fields are ignored and "
        "attributes of missing ones are not set (`fit`).",
        default="error",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the fields."""
        return frozenset(name for name in self.columns if name)

    @field_validator("separator", mode="before")
    @classmethod
    def _tab(cls, value: object) -> object:
        if value == "\\t":
            raise PydanticCustomError(
                "bad_character", 'this is a backslash and a t; write a tab as "\\t" in double quotes'
            )
        return value

    @model_validator(mode="after")
    def _distinct_characters(self) -> Self:
        for name in ("separator", "quote", "escape"):
            value = getattr(self, name)
            if value is not None and (not value.isascii() or value in "\r\n"):
                raise PydanticCustomError(
                    "bad_character", "`{name}` must be one ASCII character, and not a line end", {"name": name}
                )
        characters = [letter for letter in (self.separator, self.quote, self.escape) if letter is not None]
        if len(set(characters)) < len(characters):
            raise PydanticCustomError("conflict", "`separator`, `quote` and `escape` are not three characters")
        return self

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        each_once(filter(None, self.columns), "columns")
        return self


class Csv(Decorator[CsvSettings]):
    r"""
    Split one line of CSV or TSV into attributes.

    A line end after the line and a byte order mark before it are removed. Fields are unchanged bytes, including spaces
    around them unless `whitespace` is `lenient`. An empty field sets an empty value, which `remove` with `values: [""]`
    removes. For a separator of several characters or a pattern, use `split`; for text of several lines, use `explode`
    first.

    Source: own design; the format is RFC 4180, read by Python's csv; `escape` is as in AWS' load balancers,
    Hive's OpenCSVSerde and `FIELDS ESCAPED BY` of MySQL, without `\n` and `\N`.
    """

    kind = "csv"
    examples = (
        Example(
            "three columns, one skipped",
            settings="{columns: ['2hb_web:ip', '', '2hb_web:agent']}",
            body='10.0.0.1,GET,"Mozilla, ""like"" Gecko"',
            after={"2hb_web:ip": "10.0.0.1", "2hb_web:agent": 'Mozilla, "like" Gecko'},
        ),
        Example(
            "tabs, without quotes",
            settings='{columns: [user, said], separator: "\\t", quote: null}',
            body='ann\t"hello"',
            after={"user": "ann", "said": '"hello"'},
        ),
        Example(
            "quotes escaped by a backslash",
            settings='{columns: [path, said], escape: "\\\\"}',
            body='"C:\\Data","I hope \\"so\\""',
            after={"path": "C:\\Data", "said": 'I hope "so"'},
        ),
        Example(
            "spaces around quotes, with `whitespace: lenient`",
            settings="{columns: [city, code], whitespace: lenient}",
            body='"Paris, Texas" , "FR "',
            after={"city": "Paris, Texas", "code": "FR "},
        ),
        Example("too few fields", settings="{columns: [a, b]}", body="1", error="field_count"),
        Example(
            "too few fields, with `on_count: fit`",
            settings="{columns: [a, b], on_count: fit}",
            body="1",
            after={"a": "1"},
        ),
        Example("a quote that is not closed", settings="{columns: [a]}", body='"1', error="bad_csv"),
    )

    def __init__(self, settings: CsvSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._columns = tuple(settings.columns)
        self._fits = settings.on_count is OnCount.FIT
        self._separator = settings.separator.encode()
        self._special = [letter.encode() for letter in (settings.quote, settings.escape) if letter is not None]
        self._escapes = _escapes(settings)
        self._blanks = None if settings.whitespace is WhiteSpace.STRICT else _blanks(settings)
        self._skips_blanks = None if self._blanks is None else _blank_skipper(settings, self._blanks)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self._source, "to read a line from")
        line = text.removesuffix(b"\n").removesuffix(b"\r").removeprefix(byte_order_marks.UTF8)
        # most lines have neither quotes nor escapes; to split those at the separators is several times as fast
        is_special = any(letter in line for letter in self._special)
        fields = self._read(line) if is_special else self._split(line)
        if len(fields) != len(self._columns) and not self._fits:
            raise FieldCountError(f"the line has {len(fields)} fields, there are {len(self._columns)} columns")
        event.update({name: value for name, value in zip(self._columns, fields, strict=False) if name})
        return True

    def _split(self, line: bytes) -> list[bytes]:
        if LF in line or CR in line:
            raise BadCsvError("the text has more than one line")
        fields = line.split(self._separator)
        return fields if self._blanks is None else [field.strip(self._blanks) for field in fields]

    def _read(self, line: bytes) -> list[bytes]:
        if self._escapes is not None:  # first: without a blank after it, an escape would escape the separator
            line = self._escapes(line)
        if self._skips_blanks is not None:
            line = self._skips_blanks(line)
        reader = csv.reader(
            io.StringIO(line.decode(_BYTES), newline=""),
            delimiter=self.settings.separator,
            quotechar=self.settings.quote,
            quoting=csv.QUOTE_NONE if self.settings.quote is None else csv.QUOTE_MINIMAL,
            escapechar=self.settings.escape,
            strict=True,
        )
        try:
            rows = list(reader)
        except csv.Error as error:
            raise BadCsvError(f"the line is not CSV: {error}") from error
        if len(rows) != 1:
            raise BadCsvError("the text has more than one line")
        return [field.encode(_BYTES) for field in rows[0]]


def _escapes(settings: CsvSettings) -> Callable[[bytes], bytes] | None:
    """Doubles an escape that escapes nothing, which Python's csv would drop."""
    if settings.escape is None:
        return None
    escape = re.escape(settings.escape)
    special = re.escape(f"{settings.escape}{settings.separator}{settings.quote or ''}")
    sub = re.compile(rf"({escape}[{special}])|{escape}".encode()).sub
    return lambda line: sub(lambda found: found[0] if found[1] else found[0] * 2, line)


def _blanks(settings: CsvSettings) -> bytes:
    """The white space that is not a character of the format."""
    return "".join({" ", "\t"} - {settings.separator, settings.quote, settings.escape}).encode()


def _blank_skipper(settings: CsvSettings, blanks: bytes) -> Callable[[bytes], bytes]:
    """Removes white space around fields, also outside of their quotes, in linear time."""
    separator, quote, escape = (
        re.escape(letter.encode()) if letter is not None else b""
        for letter in (settings.separator, settings.quote, settings.escape)
    )
    escaped = rb"|%b(?s:.)" % escape if escape else b""
    quoted = rb"%b(?:[^%b%b]|%b%b%b)*+%b" % (quote, quote, escape, quote, quote, escaped, quote) if quote else rb"(?!)"
    plain = rb"(?:[^%b%b]%b|%b\Z)*+" % (separator, escape, escaped, escape) if escape else rb"[^%b]*+" % separator
    space = rb"[%b]*+" % blanks if blanks else b""
    field = rb"%b(?P<quoted>%b)%b(?=%b|\Z)|(?P<plain>%b)" % (space, quoted, space, separator, plain)
    sub = re.compile(rb"(?:%b)(?P<end>%b|\Z)" % (field, separator)).sub
    return lambda line: sub(lambda found: (found["quoted"] or found["plain"].strip(blanks)) + found["end"], line)
