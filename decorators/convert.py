"""Convert values between types and encodings."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, EventError, Example, option
from ingest.api.event_errors import BadEncodingError
from ingest.api.notation import name_to_bytes
from ingest.decorating.edits import Change, EditSettings, edit, edit_found
from ingest.expressions import Pattern, phoenix
from ingest.expressions.encodings import READ, WRITE
from ingest.formats import big_integers, booleans, quantities
from ingest.formats.charsets import recoder
from ingest.formats.number_notation import number_reader
from ingest.formats.number_types import number_or_text


class Form(StrEnum):
    """The type or encoding of a value."""

    NUMBER = "number"
    BOOL = "bool"
    BOOL8 = "bool8"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BIGINT = "bigint"
    BIGDECIMAL = "bigdecimal"
    PHOENIX_TINYINT = "phoenix_tinyint"
    PHOENIX_SMALLINT = "phoenix_smallint"
    PHOENIX_INTEGER = "phoenix_integer"
    PHOENIX_BIGINT = "phoenix_bigint"
    PHOENIX_FLOAT = "phoenix_float"
    PHOENIX_DOUBLE = "phoenix_double"
    PHOENIX_DECIMAL = "phoenix_decimal"
    PHOENIX_BOOLEAN = "phoenix_boolean"
    PHOENIX_DATE = "phoenix_date"
    PHOENIX_TIME = "phoenix_time"
    PHOENIX_TIMESTAMP = "phoenix_timestamp"
    PHOENIX_UNSIGNED_TINYINT = "phoenix_unsigned_tinyint"
    PHOENIX_UNSIGNED_SMALLINT = "phoenix_unsigned_smallint"
    PHOENIX_UNSIGNED_INT = "phoenix_unsigned_int"
    PHOENIX_UNSIGNED_LONG = "phoenix_unsigned_long"
    PHOENIX_UNSIGNED_FLOAT = "phoenix_unsigned_float"
    PHOENIX_UNSIGNED_DOUBLE = "phoenix_unsigned_double"
    PHOENIX_UNSIGNED_DATE = "phoenix_unsigned_date"
    PHOENIX_UNSIGNED_TIME = "phoenix_unsigned_time"
    PHOENIX_UNSIGNED_TIMESTAMP = "phoenix_unsigned_timestamp"
    DURATION = "duration"
    SIZE = "size"
    AUTO = "auto"
    HEX = "hex"
    BASE64 = "base64"
    BASE64URL = "base64url"
    PERCENT = "percent"
    FORM = "form"
    STRING_BINARY = "string_binary"
    UTF8 = "utf8"
    UTF16LE = "utf-16le"
    UTF16BE = "utf-16be"
    ASCII = "ascii"
    LATIN1 = "latin1"
    ISO_8859_2 = "iso-8859-2"
    ISO_8859_5 = "iso-8859-5"
    ISO_8859_7 = "iso-8859-7"
    ISO_8859_9 = "iso-8859-9"
    ISO_8859_15 = "iso-8859-15"
    WINDOWS_1250 = "windows-1250"
    WINDOWS_1251 = "windows-1251"
    WINDOWS_1252 = "windows-1252"
    WINDOWS_1253 = "windows-1253"
    WINDOWS_1254 = "windows-1254"
    KOI8_R = "koi8-r"
    KOI8_U = "koi8-u"
    CP437 = "cp437"
    CP850 = "cp850"
    SHIFT_JIS = "shift_jis"
    EUC_JP = "euc-jp"
    GB18030 = "gb18030"
    BIG5 = "big5"
    EUC_KR = "euc-kr"


_CHARSETS = frozenset(list(Form)[list(Form).index(Form.UTF8) :])
_PHOENIX = MappingProxyType({Form(f"phoenix_{kind}"): kind for kind in phoenix.WRITE})
_BOOLS = frozenset({Form.BOOL, Form.BOOL8, Form.PHOENIX_BOOLEAN})
_BINARY_NUMBERS = frozenset(
    {Form.INT8, Form.INT16, Form.INT32, Form.INT64, Form.FLOAT32, Form.FLOAT64, Form.BIGINT, Form.BIGDECIMAL, *_PHOENIX}
) - {Form.PHOENIX_BOOLEAN}
_READ_ONLY = frozenset({Form.DURATION, Form.SIZE})
_BINARY = _BINARY_NUMBERS | {Form.BOOL8, Form.PHOENIX_BOOLEAN, Form.AUTO}

_AUTO_FOR_A_NAME = (
    "with `auto` the type depends on each value, so a column may contain several types; for an attribute that is named "
    "write its type, such as `encode: int64`"
)


class OnInvalidValue(StrEnum):
    """The action for a value that cannot be converted."""

    ERROR = "error"
    KEEP = "keep"
    EMPTY = "empty"
    UNSET = "unset"
    DROP = "drop"
    REPLACE = "replace"


class ConvertSettings(EditSettings):
    """Options of the convert decorator."""

    pattern: Pattern | None = option(
        "Regular expression, instead of `source` and `attributes`: the values of all attributes whose names match it "
        "are replaced.",
        default=None,
        example="^2hb_m:",
    )
    decode: Form | None = option(
        "The type of the value that is read: a big-endian number (`int64`, `float32` …, or `bigint` of any length), "
        "a decimal as in HBase's `Bytes.toBytes` (`bigdecimal`: the scale in 4 bytes, then a `bigint`), "
        "HBase's single byte for a boolean (`bool8`), a type of Apache Phoenix (`phoenix_bigint` …), `hex`, `base64`, "
        "`base64url`, percent-encoded text (`percent`; "
        "`form` also reads + as a space), text with `\\xNN` for bytes, as HBase's shell prints them (`string_binary`), "
        "text in a character set, or text to normalise: a `number` loses surrounding "
        "white space, plus sign, needless zeros and exponent, a `bool` becomes `true` or `false`, a `duration` such as "
        "`1h2m3.5s` or `5.4 ms` seconds, a `size` such as `2.5 MB` or `1GiB` bytes. Left out: UTF-8 text or raw bytes.",
        default=None,
        example="int64",
        strict=False,
    )
    encode: Form | None = option(
        "The type of the value that is written, from the same list, or `auto`: a number as JSON writes it becomes an "
        "`int64` if it is an integer of 64 bits, a `float64` if it has a fraction or an exponent; any other value "
        "stays unchanged. Left out: UTF-8 text or raw bytes.",
        default=None,
        example="base64",
        strict=False,
    )
    decimal: str = option("With `decode: number`: the decimal separator.", default=".", min_length=1, max_length=1)
    grouping: str = option(
        "With `decode: number`: the grouping separators, which are ignored between two digits.", default="", example=","
    )
    scale: int = option(
        "With `bigint`: number of digits after the point, as the `scale` in the schema of a Decimal of Kafka Connect. "
        "With `encode: bigdecimal`: the same, by default as many as the number needs.",
        default=0,
        ge=0,
        le=big_integers.MAX_SCALE,
    )
    on_invalid: OnInvalidValue = option(
        "A value that cannot be converted: the event fails (`error`) or is dropped (`drop`), or the result is the "
        "unchanged value (`keep`), `empty`, or none (`unset`). `replace` is for character sets: a character that "
        "cannot be read becomes \ufffd, one that cannot be written a question mark.",
        default="error",
        strict=False,
    )

    @model_validator(mode="after")
    def _converts_something(self) -> Self:
        if self.decode is None and self.encode is None:
            raise PydanticCustomError("missing", "convert needs `decode` or `encode`")
        if self.decode is Form.AUTO:
            raise PydanticCustomError(
                "conflict", "`auto` is for `encode`: bytes do not contain their type", {"option": "decode"}
            )
        if self.encode in _READ_ONLY:
            raise PydanticCustomError("conflict", "`{form}` is for `decode`", {"form": self.encode, "option": "encode"})
        if self.decode is not Form.NUMBER and (self.decimal != "." or self.grouping):
            raise PydanticCustomError("conflict", "`decimal` and `grouping` go with `decode: number`")
        if self.scale and Form.BIGINT not in {self.decode, self.encode} and self.encode is not Form.BIGDECIMAL:
            raise PydanticCustomError(
                "conflict", "`scale` goes with `bigint` and `encode: bigdecimal`", {"option": "scale"}
            )
        if self.decimal in self.grouping:
            raise PydanticCustomError("conflict", "a character cannot be in both `decimal` and `grouping`")
        if self.on_invalid is OnInvalidValue.REPLACE and not {self.decode, self.encode} & _CHARSETS:
            raise PydanticCustomError("conflict", "`replace` is for character sets", {"option": "on_invalid"})
        if self.on_invalid is OnInvalidValue.UNSET and self.sets_core():
            raise PydanticCustomError("conflict", "the body cannot be unset; use `empty`", {"option": "on_invalid"})
        return self

    @model_validator(mode="after")
    def _pattern_or_names(self) -> Self:
        if self.pattern is not None and {"source", "attribute", "attributes"} & self.model_fields_set:
            raise PydanticCustomError(
                "conflict",
                "`pattern` cannot be combined with `source`, `attribute` or `attributes`",
                {"option": "pattern"},
            )
        return self

    def reads(self) -> frozenset[str]:
        """The attributes that are listed; no other references are known with `pattern`."""
        return frozenset() if self.pattern is not None else super().reads()

    def sets_core(self) -> frozenset[str]:
        """The body, if neither attributes nor a pattern are named."""
        return frozenset() if self.pattern is not None else super().sets_core()

    @property
    def writes_binary(self) -> bool:
        """Whether the result is not text."""
        return self.encode in _BINARY

    def replaces_text(self, name: str) -> bool:
        """Whether `pattern` matches the name, and the value is read as text."""
        return self._matches(name) and self.decode not in _BINARY

    def writes_binary_to(self, name: str) -> bool:
        """Whether `pattern` matches the name, and the result is not text."""
        return self._matches(name) and self.writes_binary

    @property
    def pattern_literals(self) -> tuple[str, ...]:
        """The literal parts of `pattern`."""
        return () if self.pattern is None else self.pattern.literals

    def _matches(self, name: str) -> bool:
        return self.pattern is not None and self.pattern.search(name_to_bytes(name)) is not None

    def lint_warnings(self) -> Mapping[str, str]:
        """A type that depends on the value, for an attribute that is named."""
        if self.encode is not Form.AUTO or self.pattern is not None:
            return {}
        return {"encode": _AUTO_FOR_A_NAME}


class Convert(Decorator[ConvertSettings]):
    """
    Convert the body or attributes from one type or encoding to another: first `decode`, then `encode`.

    Fixed-width numbers are those of HBase's `Bytes.toBytes`: big-endian, floats in IEEE 754. The words for true are
    true, t, yes, y, on and 1, those for false are false, f, no, n, off and 0, in any case. With `decode: number` a
    number may also be hexadecimal (`0x1f`). A `bool` that is decoded becomes the number 1 or 0 if a number is encoded.
    A value that is out of range or not in its encoding is never changed silently: see `on_invalid`. So is a whole
    number that a float would round, such as 16777217 and 1.6777217e7 as `float32`; a number with a fraction becomes the
    nearest float. Padding at the end of base64 may be missing.

    The types of Apache Phoenix are `phoenix_` and the type's name in SQL. A date, time or timestamp is milliseconds
    since 1970-01-01 00:00 UTC, and a timestamp may have up to six decimals. See docs/guides/encodings.md.

    A Decimal of Kafka Connect in JSON, as Debezium writes it with `decimal.handling.mode: precise`, is the `bigint` in
    base64: decode `base64` first, then `bigint` with the `scale` of the schema.

    `encode: auto` chooses the type by each value. A column that gets 1, 1.5 and `n/a` then contains an int64, a float64
    and text, and no reader can tell the two numbers apart: name the type of such a column. Text that JSON does not
    accept as a number, such as `007`, `+7` and `0x1f`, stays text, and so does an integer beyond 64 bits. The pattern
    must not match the row key, nor attributes that are already converted; it works on the characters of names
    (docs/reference/expressions.md).

    The units of a `duration` are ns, us, µs, ms, s, m, h, d and w, those of a `size` B, kB, MB … (1,000) and KiB, MiB …
    (1,024); a unit with two meanings, such as K, M and Mb, is invalid.

    Source: own design; org.apache.hadoop.hbase.util.Bytes, org.apache.phoenix.schema.types, RFC 4648, RFC 3986, the
    HTML standard for forms, for `bigint` java.math.BigInteger, for `string_binary`
    `toStringBinary` of Bytes, for `duration` Go's time.ParseDuration with d and w, for
    `size` IEC 80000-13; base64 without padding is read as by java.util.Base64.
    """

    kind = "convert"
    examples = (
        Example(
            "numbers as HBase's tools write them",
            settings="{attributes: {status: '2hb_web:status', took: '2hb_web:took'}, encode: int32}",
            attributes={"status": "100", "took": "65"},
            after={"2hb_web:status": "\0\0\0d", "2hb_web:took": "\0\0\0A"},
        ),
        Example(
            "numbers as Phoenix reads them",
            settings="{attributes: {rx: '2hb_m:RX', load: '2hb_m:LOAD'}, encode: phoenix_double}",
            attributes={"rx": "100", "load": "-2.5"},
            after={"2hb_m:RX": b"\xc0Y\0\0\0\0\0\1", "2hb_m:LOAD": b"?\xfc\0\0\0\0\0\0"},
        ),
        Example(
            "milliseconds as Phoenix's time with nanoseconds",
            settings="{source: at, encode: phoenix_timestamp}",
            attributes={"at": "1309275728123.5"},
            after={"at": b"\x80\0\x010\xd6\xea(\xfb\0\7\xa1 "},
        ),
        Example(
            "and back to text",
            settings="{source: count, decode: int64}",
            attributes={"count": "\0\0\0\0\0\0\1\0"},
            after={"count": "256"},
        ),
        Example(
            "numbers as people write them",
            settings="{source: price, decode: number, decimal: ',', grouping: \".'\"}",
            attributes={"price": " +1.234,50 "},
            after={"price": "1234.5"},
        ),
        Example(
            "words for true and false",
            settings="{source: ok, decode: bool}",
            attributes={"ok": "Yes"},
            after={"ok": "true"},
        ),
        Example(
            "a duration in seconds",
            settings="{source: took, decode: duration, encode: float64}",
            attributes={"took": "1m0.5s"},
            after={"took": "@N@\0\0\0\0\0"},
        ),
        Example(
            "a switch as a number",
            settings="{source: state, decode: bool, encode: int32}",
            attributes={"state": "On"},
            after={"state": "\0\0\0\1"},
        ),
        Example(
            "a decimal of Kafka Connect, after base64",
            settings="{source: price, decode: bigint, scale: 3}",
            attributes={"price": b"\x21\x34"},
            after={"price": "8.500"},
        ),
        Example(
            "a decimal as HBase's `Bytes` and Flink write it",
            settings="{attributes: {price: '2hb_d:price'}, encode: bigdecimal, scale: 2}",
            attributes={"price": "8.5"},
            after={"2hb_d:price": b"\0\0\0\2\x03\x52"},
        ),
        Example(
            "bytes as HBase's shell prints them",
            settings="{source: id, decode: string_binary}",
            attributes={"id": r"u-\x00\x2A"},
            after={"id": b"u-\0*"},
        ),
        Example("one encoding to another", settings="{decode: hex, encode: base64}", body="00ff", body_after="AP8="),
        Example(
            "a field of an HTML form",
            settings="{source: q, decode: form}",
            attributes={"q": "sch%C3%B6ne+Schuhe"},
            after={"q": "schöne Schuhe"},
        ),
        Example(
            "all cells of a family, by their values",
            settings="{pattern: '^2hb_m:', encode: auto}",
            attributes={"2hb_": "42", "2hb_m:rx": "100", "2hb_m:load": "2.5", "2hb_m:zip": "01067"},
            after={"2hb_m:rx": "\0\0\0\0\0\0\0d", "2hb_m:load": "@\4\0\0\0\0\0\0"},
        ),
        Example(
            "all cells of a family have one type",
            settings="{pattern: '^2hb_m:', encode: int64}",
            attributes={"2hb_m:rx": "100", "2hb_m:load": "2.5"},
            error="not_a_number",
        ),
        Example("Latin-1 to UTF-8", settings="{decode: latin1}", body=b"gr\xf6\xdfe", body_after="größe"),
        Example(
            "bytes that are not UTF-8 are replaced",
            settings="{decode: utf8, on_invalid: replace}",
            body=b"gr\xf6\xdfe",
            body_after="gr\ufffd\ufffde",
        ),
        Example("not a number", settings="{encode: int64}", body="seven", error="not_a_number"),
        Example("too large", settings="{encode: int16}", body="40000", error="number_too_large"),
        Example("no negative one", settings="{encode: phoenix_unsigned_int}", body="-1", error="number_too_large"),
        Example("not in the encoding", settings="{decode: hex}", body="xyz", error="bad_encoding"),
        Example("neither true nor false", settings="{decode: bool}", body="maybe", error="not_a_bool"),
        Example("neither, with `on_invalid: keep`", settings="{decode: bool, on_invalid: keep}", body="maybe"),
        Example("an absent attribute", settings="{source: x, encode: hex, on_missing: error}", error="no_attribute"),
    )

    def __init__(self, settings: ConvertSettings) -> None:
        super().__init__(settings)
        self._drops = settings.on_invalid is OnInvalidValue.DROP
        convert = _with_fallback(_conversion(settings), settings.on_invalid)
        pattern = settings.pattern
        self._edit = edit(settings, convert) if pattern is None else edit_found(pattern.search, convert)

    @property
    def drop_reason(self) -> str:
        """Only events with a value that cannot be converted are dropped."""
        return BadEncodingError.code

    def decorate(self, event: Event) -> bool:
        """Convert the values."""
        try:
            self._edit(event)
        except _NotConvertedError:
            return False
        return True


class _NotConvertedError(Exception):
    """The event is to be dropped; `decorate` catches it."""


def _with_fallback(convert: Change, on_invalid: OnInvalidValue) -> Change:
    if on_invalid in {OnInvalidValue.ERROR, OnInvalidValue.REPLACE}:
        return convert

    def convert_or_fall_back(value: bytes) -> bytes | None:
        try:
            return convert(value)
        except EventError as error:
            match on_invalid:
                case OnInvalidValue.KEEP:
                    return value
                case OnInvalidValue.EMPTY:
                    return b""
                case OnInvalidValue.UNSET:
                    return None
            raise _NotConvertedError from error

    return convert_or_fall_back


def _conversion(settings: ConvertSettings) -> Change:
    replaces = settings.on_invalid is OnInvalidValue.REPLACE
    read = None if settings.decode is None else _reader(settings, settings.decode, replaces=replaces)
    write = None if settings.encode is None else _writer(settings, settings.encode, replaces=replaces)
    if read is None or write is None:
        return read or write or bytes
    if settings.decode in _BOOLS and settings.encode in _BINARY_NUMBERS | {Form.NUMBER}:
        return lambda value: write(booleans.digit_of(read(value)))
    return lambda value: write(read(value))


def _reader(settings: ConvertSettings, form: Form, *, replaces: bool) -> Callable[[bytes], bytes]:
    match form:
        case Form.NUMBER:
            return number_reader(settings.decimal, settings.grouping)
        case Form.BIGINT:
            return big_integers.reader(settings.scale)
        case _ if form in _CHARSETS:
            return recoder(form, Form.UTF8, replaces=replaces)
        case _:
            return _READ[form] if form in _READ else READ[form]


def _writer(settings: ConvertSettings, form: Form, *, replaces: bool) -> Callable[[bytes], bytes]:
    match form:
        case Form.BIGINT:
            return big_integers.writer(settings.scale)
        case Form.BIGDECIMAL:
            return big_integers.decimal_writer(settings.scale if "scale" in settings.model_fields_set else None)
        case _ if form in _CHARSETS:
            return recoder(Form.UTF8, form, replaces=replaces)
        case _:
            return _WRITE[form] if form in _WRITE else WRITE[form]


_READ: Mapping[str, Callable[[bytes], bytes]] = {
    Form.BOOL: booleans.word,
    Form.BOOL8: booleans.of_byte,
    Form.BIGDECIMAL: big_integers.decimal_reader,
    Form.DURATION: quantities.seconds_of,
    Form.SIZE: quantities.bytes_of,
    **{form: phoenix.READ[kind] for form, kind in _PHOENIX.items()},
}
_WRITE: Mapping[str, Callable[[bytes], bytes]] = {
    Form.NUMBER: number_reader(".", ""),
    Form.BOOL: booleans.word,
    Form.BOOL8: booleans.byte_of,
    Form.AUTO: number_or_text,
    **{form: phoenix.WRITE[kind] for form, kind in _PHOENIX.items()},
}
