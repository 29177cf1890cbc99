"""Parse a message in QRadar's Log Event Extended Format into attributes."""

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes, shown, shown_start
from ingest.formats.byte_numbers import BACKSLASH
from ingest.formats.keyed import KeyedSettings, Names

_MESSAGE = re.compile(
    rb"LEEF: ?([12](?:\.\d+)?)" + rb"\|([^|\\]*(?:\\.[^|\\]*)*)" * 4 + rb"(?:\||\Z)",
    re.DOTALL,
)
_DECLARED = re.compile(rb"(0?[xX][0-9A-Fa-f]{1,4}|[^|=]|[\xc2-\xf4][\x80-\xbf]{1,3}|)\|", re.DOTALL)


class BadLeefError(DecorateError):
    """The text is not a LEEF message of version 1 or 2, or a part of it is not a key with a value."""

    code = "bad_leef"


def _separator(text: bytes) -> bytes:
    """The separator from its declaration: a character, or the number of one."""
    is_number = len(text) > 1 and text[0] < 0x80  # noqa: PLR2004 - the end of ASCII
    return chr(int(text[text.lower().index(b"x") + 1 :], 16)).encode() if is_number else text


def _valid_separator(text: str) -> str:
    found = _DECLARED.fullmatch(name_to_bytes(text) + b"|")
    try:
        if found is not None and _separator(found[1]) not in {b"", b"="}:
            return text
    except UnicodeEncodeError:
        pass  # a lone surrogate is not a character
    raise PydanticCustomError(
        "bad_character", '"{text}" is not a separator; write one character, or its number as in 0x5E', {"text": text}
    )


class LeefSettings(KeyedSettings):
    """Options of the leef decorator."""

    header: ClassVar[tuple[str, ...]] = ("leefVersion", "deviceVendor", "deviceProduct", "deviceVersion", "eventId")

    prefix: str = option(
        "Put before leefVersion, deviceVendor, deviceProduct, deviceVersion, eventId, and the keys of the message.",
        default="",
        example="2hb_leef:",
    )
    only: list[str] | None = option(
        "Only these keys of the pairs, as the message writes them, become attributes; all when left out.",
        default=None,
        example=["src", "dst"],
        min_length=1,
    )
    separator: Annotated[str, AfterValidator(_valid_separator)] = option(
        "Separator of pairs if the message does not declare one: one character, or its number as in `x5E`.",
        default="\t",
    )


class Leef(Decorator[LeefSettings]):
    """
    Set attributes from the header and the pairs of a LEEF message, version 1.0 or 2.0.

    Text before `LEEF:`, such as a syslog header, is ignored. Version 2.0 may declare its separator, as a character or
    as a hexadecimal Unicode number (`x5E`, `0x5E`). Values are unchanged bytes up to the next separator. If a key
    repeats, its last value wins; a key with the name of a header field is ignored.

    Source: own design; IBM's guide to LEEF. Header fields have the names they have in `cef`.
    """

    kind = "leef"
    examples = (
        Example(
            "version 1.0, with tabs, after a syslog header",
            settings="{prefix: '2hb_leef:'}",
            body="<13>Jan 18 11:07:53 192.0.2.1 LEEF:1.0|Microsoft|MSExchange|4.0 SP1|15345|"
            "src=192.0.2.0\tdst=172.50.123.1\tsev=5\tmsg=there are = blanks",
            after={
                "2hb_leef:leefVersion": "1.0",
                "2hb_leef:deviceVendor": "Microsoft",
                "2hb_leef:deviceProduct": "MSExchange",
                "2hb_leef:deviceVersion": "4.0 SP1",
                "2hb_leef:eventId": "15345",
                "2hb_leef:src": "192.0.2.0",
                "2hb_leef:dst": "172.50.123.1",
                "2hb_leef:sev": "5",
                "2hb_leef:msg": "there are = blanks",
            },
        ),
        Example(
            "version 2.0 with a declared separator",
            settings="{only: [src, sev]}",
            body="LEEF:2.0|Lancope|StealthWatch|1.0|41|x5E|src=10.0.1.8^dst=10.0.0.5^sev=5",
            after={
                "leefVersion": "2.0",
                "deviceVendor": "Lancope",
                "deviceProduct": "StealthWatch",
                "deviceVersion": "1.0",
                "eventId": "41",
                "src": "10.0.1.8",
                "sev": "5",
            },
        ),
        Example("a header that ends too soon", body="LEEF:1.0|Microsoft|MSExchange", error="bad_leef"),
        Example("a pair without an equals sign", body="LEEF:1.0|V|P|1|7|src=10.0.0.1\tallowed", error="bad_leef"),
    )

    def __init__(self, settings: LeefSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._separator = _separator(name_to_bytes(settings.separator))
        self._header = tuple(settings.prefix + name for name in settings.header)
        self._names = Names(settings.prefix, settings.only, settings.header, read=_key)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self._source, "to read a message from")
        line = text.rstrip(b"\r\n")
        found = _MESSAGE.search(line)
        if found is None:
            raise BadLeefError(f"{shown_start(text)} is not a LEEF message")
        attributes = dict(zip(self._header, found.groups(), strict=True))
        start = found.end()
        if BACKSLASH in found[0]:
            for part, field in attributes.items():
                attributes[part] = b"\\".join([piece.replace(b"\\|", b"|") for piece in field.split(b"\\\\")])
        separator = self._separator
        if found[1].startswith(b"2") and (declared := _DECLARED.match(line, start)):
            start = declared.end()
            separator = self._declared(declared[1])
        names = self._names.known
        for piece in line[start:].split(separator):
            key, sign, value = piece.partition(b"=")
            try:
                name = names[key] if sign else ""
            except KeyError:
                name = self._names[key]
            if name:
                attributes[name] = value
            elif not sign and piece and not piece.isspace():
                raise BadLeefError(f"{shown_start(piece)} is not a key and value")
        event.update(attributes)
        return True

    def _declared(self, text: bytes) -> bytes:
        try:
            return _separator(text) or self._separator
        except UnicodeEncodeError as error:
            raise BadLeefError(f"{shown(text)} is not the number of a character") from error


def _key(text: bytes) -> bytes:
    key = text.strip()
    if not key:
        raise BadLeefError("a value has no key")
    return key
