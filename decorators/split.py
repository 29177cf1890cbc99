"""Split a text and put pieces into attributes."""

from collections.abc import Callable
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.edits import each_once
from ingest.expressions import Pattern

_SPECIAL = frozenset("\\.^$*+?{}[]|()")


class SplitSettings(Settings):
    """Options of the split decorator."""

    other_names: ClassVar[None] = None

    separator: Pattern = option("Regular expression of the separator between two pieces.", example=":")
    index: int | None = option("Index of the piece, from 0; needs `attribute`.", default=None, example=0, ge=0)
    attribute: str | None = option("Attribute that receives the piece.", default=None, example="2hb_colfam:ts")
    attributes: list[str] | None = option(
        "Attribute names of the pieces, from the first on, instead of `index` and `attribute`; an empty name skips "
        "its piece.",
        default=None,
        example=["2hb_colfam:ts", "", "2hb_colfam:value"],
        min_length=1,
    )
    source: str | None = option("Attribute to split; the body if left out.", default=None, example="path")

    def sets(self) -> frozenset[str]:
        """The attributes of the pieces."""
        return frozenset(name for name in self.attributes or () if name) | super().sets()

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        one = (self.index is not None, self.attribute is not None)
        if one != ((False, False) if self.attributes is not None else (True, True)):
            raise PydanticCustomError("conflict", "split needs `index` and `attribute`, or `attributes` without them")
        each_once(filter(None, self.attributes or ()), "attributes")
        return self


class Split(Decorator[SplitSettings]):
    """
    Split the body, or an attribute, and keep one piece or several.

    A piece past the end is empty; so are trailing empty pieces, which Flume removed. Pieces are unchanged bytes of the
    text. The separator works on characters if the text is UTF-8, else on bytes (docs/reference/expressions.md). For
    fields in quotes, use `csv`; for an event per piece, `explode`.

    Source: Flume decorator `split`.
    """

    kind = "split"
    examples = (
        Example(
            "first piece of two",
            settings="{separator: ':', index: 0, attribute: ts}",
            body="2238947398:56",
            after={"ts": "2238947398"},
        ),
        Example("past the end", settings="{separator: ':', index: 2, attribute: x}", body="a:b::", after={"x": ""}),
        Example(
            "several pieces",
            settings="{separator: ' +', attributes: [user, '', action]}",
            body="ann  10.0.0.1 login",
            after={"user": "ann", "action": "login"},
        ),
        Example(
            "an attribute",
            settings="{source: path, separator: '/', index: 1, attribute: app}",
            attributes={"path": "/shop/cart"},
            after={"app": "shop"},
        ),
    )

    def __init__(self, settings: SplitSettings) -> None:
        super().__init__(settings)
        names = settings.attributes if settings.attributes is not None else [settings.attribute or ""]
        first = settings.index or 0
        self._source = settings.source
        self._attribute = names[0]
        self._index = first
        self._indexes = (
            None if settings.attributes is None else [(name, number) for number, name in enumerate(names) if name]
        )
        self._split = _splitter(settings.separator, first + len(names))

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self._source, "to split")
        pieces = self._split(text)
        if self._indexes is None:
            event.set(self._attribute, pieces[self._index] if self._index < len(pieces) else b"")
        else:
            count = len(pieces)
            event.update({name: pieces[index] if index < count else b"" for name, index in self._indexes})
        return True


def _splitter(separator: Pattern, max_splits: int) -> Callable[[bytes], list[bytes]]:
    """A function that splits; for a plain-text separator only as far as needed."""
    if separator.text and _SPECIAL.isdisjoint(separator.text):
        literal = name_to_bytes(separator.text)
        return lambda text: text.split(literal, max_splits)
    return separator.split
