"""Give attributes other names."""

import re
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.notation import name_from_bytes, name_to_bytes
from ingest.expressions import Pattern

_MOST_NAMES = 10_000  # remembered new names; attribute names come from the data, so there must be an end
_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)


class RenameSettings(Settings):
    """Options of the rename decorator."""

    attributes: dict[str, str] = option("Old name -> new name.", default={}, example={"ip": "2hb_web:ip"})
    pattern: Pattern | None = option(
        "Regular expression for other names; the part it finds is replaced with `replacement`.",
        default=None,
        example="^http_",
    )
    replacement: str | None = option(
        "What stands for the part `pattern` found; `\\1` is its first group, `\\\\` a backslash.",
        default=None,
        example="2hb_web:",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.pattern is None) is not (self.replacement is None):
            raise PydanticCustomError("conflict", "rename needs `pattern` and `replacement` together")
        if not self.attributes and self.pattern is None:
            raise PydanticCustomError("missing", "rename needs `attributes`, or `pattern` and `replacement`")
        for reference in _REFERENCE.findall(self.replacement or ""):
            number = int(reference) if reference.isdecimal() else None
            if reference != "\\" and (number is None or self.pattern is None or number > self.pattern.groups):
                raise PydanticCustomError(
                    "bad_pattern",
                    '"\\{reference}" in the replacement is no group of the pattern',
                    {"reference": reference},
                )
        return self


class Rename(Decorator[RenameSettings]):
    """
    Rename attributes; those the event does not have are passed over.

    `attributes` comes first, `pattern` is for names it does not list. A new name that another attribute has already
    replaces that one, or fails the event where attributes are written once.

    Source: ours.
    """

    kind = "rename"
    examples = (
        Example(
            "by name",
            settings="{attributes: {ip: '2hb_web:ip'}}",
            attributes={"ip": "10.0.0.1", "other": "x"},
            after={"ip": None, "2hb_web:ip": "10.0.0.1"},
        ),
        Example(
            "by pattern",
            settings="{pattern: '^http_(.*)', replacement: '2hb_web:\\1'}",
            attributes={"http_status": "200", "other": "x"},
            after={"http_status": None, "2hb_web:status": "200"},
        ),
        Example(
            "a prefix for all",
            settings="{pattern: '^', replacement: '2hb_app:'}",
            attributes={"level": "info"},
            after={"level": None, "2hb_app:level": "info"},
        ),
    )

    def __init__(self, settings: RenameSettings) -> None:
        super().__init__(settings)
        self._search = None if settings.pattern is None else settings.pattern.search
        self._pieces = tuple(_pieces(settings.replacement or ""))
        self._new_names: dict[str, str] = dict(settings.attributes)

    def decorate(self, event: Event) -> bool:
        """Rename what is listed."""
        before = event.attributes
        new_names = self._new_names
        if self._search is None and new_names.keys().isdisjoint(before):
            return True
        kept: dict[str, bytes] = {}
        moved: list[tuple[str, bytes]] = []
        for name, value in before.items():
            new_name = new_names.get(name)
            if new_name is None:
                new_name = name if self._search is None else self._new_name(name)
            if new_name == name:
                kept[name] = value
            else:
                moved.append((new_name, value))
        event.attributes = kept
        try:
            for new_name, value in moved:
                event.set(new_name, value)
        except BaseException:
            event.attributes = before
            raise
        return True

    def _new_name(self, name: str) -> str:
        data = name_to_bytes(name)
        match = None if self._search is None else self._search(data)
        new_name = name
        if match is not None:
            middle = b"".join((match[piece] or b"") if isinstance(piece, int) else piece for piece in self._pieces)
            new_name = name_from_bytes(data[: match.start()] + middle + data[match.end() :])
        if len(self._new_names) >= _MOST_NAMES:
            self._new_names = dict(self.settings.attributes)
        self._new_names[name] = new_name
        return new_name


def _pieces(replacement: str) -> list[bytes | int]:
    pieces: list[bytes | int] = []
    end = 0
    for reference in _REFERENCE.finditer(replacement):
        pieces.append(name_to_bytes(replacement[end : reference.start()]))
        pieces.append(int(reference[1]) if reference[1].isdecimal() else b"\\")
        end = reference.end()
    pieces.append(name_to_bytes(replacement[end:]))
    return pieces
