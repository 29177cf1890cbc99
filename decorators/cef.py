"""Parse a message in ArcSight's Common Event Format into attributes."""

import re
from typing import ClassVar

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes, shown_start
from ingest.formats.byte_numbers import BACKSLASH
from ingest.formats.keyed import KeyedSettings, Names

_HEADER = ("cefVersion", "deviceVendor", "deviceProduct", "deviceVersion", "deviceEventClassId", "name", "severity")
_FIELD = rb"([^|\\]*(?:\\.[^|\\]*)*)"
_MESSAGE = re.compile(rb"CEF: ?(\d+(?:\.\d+)?)" + (rb"\|" + _FIELD) * 6 + rb"(?:\|(.*))?\Z", re.DOTALL)
_KEY = re.compile(rb"(?:\A|\s)(\w[\w.\[\]-]*)=")
_LABEL = b"Label"


class BadCefError(DecorateError):
    """The text is not a CEF message: its header lacks one of seven fields, or its extension starts without a key."""

    code = "bad_cef"


class CefSettings(KeyedSettings):
    """Options of the cef decorator."""

    header: ClassVar[tuple[str, ...]] = _HEADER

    prefix: str = option(
        "Put before cefVersion, deviceVendor, deviceProduct, deviceVersion, deviceEventClassId, name, severity, and "
        "the keys of the extension.",
        default="",
        example="2hb_cef:",
    )
    only: list[str] | None = option(
        "Only these keys of the extension, as the message writes them, become attributes; all when left out.",
        default=None,
        example=["src", "dst", "act"],
        min_length=1,
    )
    fold_labels: bool = option(
        "Set one attribute for a custom key and its label, named by the label: `cs1=x cs1Label=Rule` sets `Rule`.",
        default=False,
    )

    @property
    def other_names(self) -> str | None:
        """A label may be any name."""
        return self.prefix if self.fold_labels else super().other_names


class Cef(Decorator[CefSettings]):
    """
    Set attributes from the header and the extension of a CEF message.

    Text before `CEF:`, such as a syslog header, is ignored. A value of the extension ends before the next key and the
    white space in front of it, so it may contain spaces, and unescaped equals signs that do not follow a key; trailing
    white space of the last value is removed. If a key repeats, its last value wins; a key with the name of a header
    field is ignored. A label is not used if its value is absent, or if the message has another attribute of that name.

    Source: own design; ArcSight's guide to implementing CEF, for versions 0 and 1.
    """

    kind = "cef"
    examples = (
        Example(
            "after a syslog header, with spaces and escapes",
            settings="{prefix: '2hb_cef:'}",
            body="Sep 19 08:26:10 host CEF:0|Security|threat\\|manager|1.0|100|worm stopped|10|"
            "src=10.0.0.1 msg=a \\= b\\nnext line filePath=/var/my file.txt spt=1232",
            after={
                "2hb_cef:cefVersion": "0",
                "2hb_cef:deviceVendor": "Security",
                "2hb_cef:deviceProduct": "threat|manager",
                "2hb_cef:deviceVersion": "1.0",
                "2hb_cef:deviceEventClassId": "100",
                "2hb_cef:name": "worm stopped",
                "2hb_cef:severity": "10",
                "2hb_cef:src": "10.0.0.1",
                "2hb_cef:msg": "a = b\nnext line",
                "2hb_cef:filePath": "/var/my file.txt",
                "2hb_cef:spt": "1232",
            },
        ),
        Example(
            "labels give the names; one without a value stays",
            settings="{fold_labels: true}",
            body="CEF:1|V|P|2|7|login|Low|cs1Label=Rule Name cs1=allow all cn1Label=Tries cs2=plain",
            after={
                "cefVersion": "1",
                "deviceVendor": "V",
                "deviceProduct": "P",
                "deviceVersion": "2",
                "deviceEventClassId": "7",
                "name": "login",
                "severity": "Low",
                "Rule Name": "allow all",
                "cn1Label": "Tries",
                "cs2": "plain",
            },
        ),
        Example("a header that ends too soon", body="CEF:0|Security|threatmanager|1.0|100", error="bad_cef"),
        Example("an extension without a key", body="CEF:0|V|P|1|7|login|5|allowed src=10.0.0.1", error="bad_cef"),
    )

    def __init__(self, settings: CefSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._wanted = None if settings.only is None else frozenset(map(name_to_bytes, settings.only))
        self._fold_labels = settings.fold_labels
        self._header = tuple(settings.prefix + name for name in _HEADER)
        self._names = Names(settings.prefix, None if settings.fold_labels else settings.only, _HEADER)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self._source, "to read a message from")
        found = _MESSAGE.search(text.rstrip())
        if found is None:
            raise BadCefError(f"{shown_start(text)} is not a CEF message")
        *header, extension = found.groups()
        attributes = dict(zip(self._header, header, strict=True))
        if BACKSLASH in text:
            for part, field in attributes.items():
                attributes[part] = b"\\".join([piece.replace(b"\\|", b"|") for piece in field.split(b"\\\\")])
        if extension:
            names = self._names.known
            for key, value in self._pairs(extension):
                try:
                    name = names[key]
                except KeyError:
                    name = self._names[key]
                if name:
                    attributes[name] = value
        event.update(attributes)
        return True

    def _pairs(self, extension: bytes) -> list[tuple[bytes, bytes]]:
        """Keys and values of the extension; with folded labels, only those that become attributes."""
        before, *pieces = _KEY.split(extension)
        if before and not before.isspace():
            raise BadCefError(f"no key begins the extension {shown_start(before)}")
        values = pieces[1::2]
        if BACKSLASH in extension:
            values = [_unescaped(value) if BACKSLASH in value else value for value in values]
        pairs = zip(pieces[::2], values, strict=True)
        return self._folded(dict(pairs)) if self._fold_labels else list(pairs)

    def _folded(self, values: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        """The pairs that become attributes; a label replaces its key unless that name is used already."""
        new: dict[bytes, bytes] = {}  # key -> its label
        used = {*values, *map(str.encode, _HEADER)}
        for key, label in values.items():
            custom = key.removesuffix(_LABEL)
            if custom != key and custom in values and label and label not in used:
                new[custom] = label
                used.add(label)
        folded = {custom + _LABEL for custom in new}
        wanted = values.keys() if self._wanted is None else self._wanted
        return [(new.get(key, key), value) for key, value in values.items() if key in wanted and key not in folded]


def _unescaped(value: bytes) -> bytes:
    # a pair of backslashes is one backslash; the second one does not escape the next character
    pieces = value.split(b"\\\\")
    return b"\\".join([piece.replace(b"\\=", b"=").replace(b"\\n", b"\n").replace(b"\\r", b"\r") for piece in pieces])
