"""Remove attributes by name or by pattern."""

from collections.abc import Container
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, attribute_references, option
from ingest.decorating.names import names_found
from ingest.expressions import Pattern


class RemoveSettings(Settings):
    """Options of the remove decorator."""

    other_names: ClassVar[None] = None

    attributes: list[str] = option("Names of attributes to remove.", default=[], example=["password", "token"])
    pattern: Pattern | None = option(
        "Regular expression; attributes whose names match it are removed.", default=None, example="^http_"
    )
    values: list[str] | None = option(
        "Remove an attribute only if it has one of these values; without `attributes` and `pattern`, any attribute "
        "that has one. Whatever the value when left out.",
        default=None,
        example=["", "-", "N/A"],
        min_length=1,
    )

    def reads(self) -> frozenset[str]:
        """The attributes that are listed."""
        return attribute_references(self.attributes)

    def may_remove(self, name: str) -> bool:
        """With a pattern, or with values alone, any; else those that are listed."""
        return self.pattern is not None or not self.attributes or name in self.attributes

    @model_validator(mode="after")
    def _removes_something(self) -> Self:
        if not self.attributes and self.pattern is None and self.values is None:
            raise PydanticCustomError("missing", "{owner} needs `attributes`, `pattern` or `values`")
        return self


class Remove(Decorator[RemoveSettings]):
    """
    Remove the listed attributes, and those whose names match a pattern; with `values`, those that have such a value.

    Parsers set an empty attribute for an empty field of `csv`, `split`, `kv` or `query`: `values: [""]` removes it, so
    that it does not become an empty cell. A removed attribute can be set again, even if attributes are written once.
    The pattern works on the characters of names (docs/reference/expressions.md). To list the attributes that stay
    instead, use `select`.

    Source: own design.
    """

    kind = "remove"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "by name and by pattern",
            settings="{attributes: [password], pattern: '^tmp\\.'}",
            attributes={"password": "x", "tmp.a": "1", "tmp.b": "2", "user": "ann"},
            after={"password": None, "tmp.a": None, "tmp.b": None},
        ),
        Example(
            "all attributes that are not cells",
            settings="{pattern: '^(?!2hb_)'}",
            attributes={"user": "ann", "2hb_": "k1", "2hb_app:user": "ann"},
            after={"user": None},
        ),
        Example(
            "cells without a value",
            settings="{pattern: '^2hb_web:', values: ['', '-']}",
            attributes={"2hb_web:user": "-", "2hb_web:agent": "", "2hb_web:path": "/", "user": ""},
            after={"2hb_web:user": None, "2hb_web:agent": None},
        ),
        Example("absent attributes are ignored", settings="{attributes: [a]}", attributes={"b": "1"}),
    )

    def __init__(self, settings: RemoveSettings) -> None:
        super().__init__(settings)
        self._names = tuple(settings.attributes)
        self._matches = None if settings.pattern is None else names_found(settings.pattern.search)
        self._values = None if settings.values is None else frozenset(map(str.encode, settings.values))
        self._is_any = not settings.attributes and settings.pattern is None

    def decorate(self, event: Event) -> bool:
        """Remove the attributes."""
        attributes = event.attributes
        if self._values is not None:
            self._remove_with(self._values, attributes)
            return True
        for name in self._names:
            attributes.pop(name, None)
        matches = self._matches
        if matches is not None:
            known = matches.known
            for name in list(attributes):
                try:
                    is_removed = known[name]
                except KeyError:
                    is_removed = matches[name]
                if is_removed:
                    del attributes[name]
        return True

    def _remove_with(self, values: Container[bytes], attributes: dict[str, bytes]) -> None:
        """Remove attributes that have one of these values."""
        for name in [name for name, value in attributes.items() if value in values]:
            if self._is_any or name in self._names or (self._matches is not None and self._matches[name]):
                del attributes[name]


class Mask(Remove):
    """
    Remove attributes: Flume's name of `remove`, with the same options.

    To remove private data inside values, use `redact`.

    Source: Flume decorator `mask`.
    """

    kind = "mask"
    examples = (
        Example("one of two", settings="{attributes: [a]}", attributes={"a": "1", "b": "2"}, after={"a": None}),
        Example("an absent attribute is ignored", settings="{attributes: [c]}", attributes={"a": "1"}, after={}),
    )
