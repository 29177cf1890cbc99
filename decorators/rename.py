"""Rename attributes."""

from collections.abc import Callable
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, attribute_references, option
from ingest.api.notation import name_from_bytes, name_to_bytes
from ingest.decorating.names import BoundedMemo, rename
from ingest.expressions import Pattern
from ingest.expressions.pattern import check_replacement


class RenameSettings(Settings):
    """Options of the rename decorator."""

    attributes: dict[str, str] = option(
        "Mapping from old names to new names.", default={}, example={"ip": "2hb_web:ip"}
    )
    pattern: Pattern | None = option(
        "Regular expression for other names; the matching part is replaced with `replacement`.",
        default=None,
        example="^http_",
    )
    replacement: str | None = option(
        "Replacement of the part that `pattern` matches; `\\1` is the first group, `\\g<name>` a named group, `\\\\` a "
        "backslash.",
        default=None,
        example="2hb_web:",
    )

    @property
    def other_names(self) -> str | None:
        """Names that a pattern produces are not known in advance."""
        return None if self.pattern is None else ""

    def sets(self) -> frozenset[str]:
        """The new names that are listed."""
        return frozenset(self.attributes.values())

    def reads(self) -> frozenset[str]:
        """The old names that are listed."""
        return attribute_references(self.attributes)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.pattern is None) is not (self.replacement is None):
            raise PydanticCustomError("conflict", "rename needs `pattern` and `replacement` together")
        if not self.attributes and self.pattern is None:
            raise PydanticCustomError("missing", "rename needs `attributes`, or `pattern` and `replacement`")
        if self.pattern is not None and self.replacement is not None:
            check_replacement(self.pattern, self.replacement)
        return self


class Rename(Decorator[RenameSettings]):
    """
    Rename attributes; those that the event does not have are skipped.

    Names in `attributes` are not matched with `pattern`. If another attribute has the new name, it is replaced; if
    attributes are written once, the event fails instead. The pattern works on the characters of names
    (docs/reference/expressions.md). To change prefixes only, use `prefix`; to keep the old name as
    well, use `copy`.

    Source: own design.
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
            "a prefix for all names",
            settings="{pattern: '^', replacement: '2hb_app:'}",
            attributes={"level": "info"},
            after={"level": None, "2hb_app:level": "info"},
        ),
    )

    def __init__(self, settings: RenameSettings) -> None:
        super().__init__(settings)
        self._is_listed_only = settings.pattern is None
        self._new_names = BoundedMemo(_renaming(settings))

    def decorate(self, event: Event) -> bool:
        """Rename the attributes."""
        if self._is_listed_only and self.settings.attributes.keys().isdisjoint(event.attributes):
            return True
        rename(event, self._new_names)
        return True


def _renaming(settings: RenameSettings) -> Callable[[str], str]:
    """A function from old names to new names."""
    listed = settings.attributes
    replace = None if settings.pattern is None else settings.pattern.replacer(settings.replacement or "", 1)

    def new_name(name: str) -> str:
        if name in listed:
            return listed[name]
        return name if replace is None else name_from_bytes(replace(name_to_bytes(name)))

    return new_name
