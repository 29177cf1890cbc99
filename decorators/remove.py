"""Remove attributes by name or by pattern."""

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

    def reads(self) -> frozenset[str]:
        """The attributes that are listed."""
        return attribute_references(self.attributes)

    def may_remove(self, name: str) -> bool:
        """With a pattern any; else those that are listed."""
        return self.pattern is not None or name in self.attributes

    @model_validator(mode="after")
    def _removes_something(self) -> Self:
        if not self.attributes and self.pattern is None:
            raise PydanticCustomError("missing", "{owner} needs `attributes` or `pattern`")
        return self


class Remove(Decorator[RemoveSettings]):
    """
    Remove the listed attributes, and those whose names match a pattern.

    A removed attribute can be set again, even if attributes are written once. The pattern works on the characters of
    names (docs/reference/expressions.md). To list the attributes that stay instead,
    use `select`.

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
        Example("absent attributes are ignored", settings="{attributes: [a]}", attributes={"b": "1"}),
    )

    def __init__(self, settings: RemoveSettings) -> None:
        super().__init__(settings)
        self._names = tuple(settings.attributes)
        self._matches = None if settings.pattern is None else names_found(settings.pattern.search)

    def decorate(self, event: Event) -> bool:
        """Remove the attributes."""
        attributes = event.attributes
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
