"""Texts of an event that a decorator edits in place."""

from collections.abc import Callable
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Event, Settings, option

ALL = "*"
"""Stands for every attribute."""
_CONTINUES, _FIRST = 0x80, 0xC0  # 10xxxxxx continues a character, 11xxxxxx starts one of several bytes
_MAX_CHARACTER = 4  # bytes of a character of UTF-8


class InPlaceSettings(Settings):
    """Options of the decorators that edit texts in place."""

    other_names: ClassVar[None] = None

    attributes: list[str] | None = option(
        "Attributes that are changed, instead of the body; `*` for all. Missing attributes are skipped.",
        default=None,
        example=["2hb_web:url", "user"],
        min_length=1,
    )
    body: bool | None = option(
        "True changes the body as well as `attributes`. When left out, the body is changed if no attributes are named.",
        default=None,
        example=True,
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.attributes is None and self.body is False:
            raise PydanticCustomError(
                "missing", "nothing would be changed: name `attributes`, or leave `body` out", {"option": "body"}
            )
        if self.attributes is not None and ALL in self.attributes and len(self.attributes) > 1:
            raise PydanticCustomError("conflict", "`*` means all attributes; list no other attribute")
        return self

    def sets_core(self) -> frozenset[str]:
        """The body, if it is changed."""
        return frozenset(["body"]) if self.changes_body else frozenset()

    @property
    def changes_body(self) -> bool:
        """Whether the body is changed: if no attributes are named, or if `body` says so."""
        return self.attributes is None if self.body is None else self.body


class InPlace:
    """
    Changes the texts that options name.

    It may replace the value of an attribute even if attributes are written once.

    Args:
        change: the new bytes for the old; the very same object if nothing changes.
    """

    def __init__(self, settings: InPlaceSettings, change: Callable[[bytes], bytes]) -> None:
        self._body = settings.changes_body
        self._names = tuple(settings.attributes or ())
        self._all = ALL in self._names
        self._change = change

    def apply(self, event: Event) -> None:
        """Change the event."""
        change, attributes = self._change, event.attributes
        changed: dict[str, bytes] = {}
        for name in attributes if self._all else self._names:
            before = attributes.get(name)
            if before is not None:
                after = change(before)
                if after is not before:
                    changed[name] = after
        if self._body:
            event.body = change(event.body)
        if changed:
            attributes.update(changed)


def cut(text: bytes, max_bytes: int) -> bytes:
    """The start of a text, at most `max_bytes` long; a UTF-8 character is not split."""
    if len(text) <= max_bytes:
        return text
    for start in range(max_bytes - 1, max(max_bytes - _MAX_CHARACTER, -1), -1):
        if not _CONTINUES <= text[start] < _FIRST:
            return text[: start if start + _length(text[start]) > max_bytes else max_bytes]
    return text[:max_bytes]


def _length(first: int) -> int:
    """The number of bytes of a character of UTF-8, by its first byte."""
    return 1 + (first >= _FIRST) + (first >= 0xE0) + (first >= 0xF0)  # noqa: PLR2004 - 1110xxxx, 11110xxx
