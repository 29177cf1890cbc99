"""Remove attributes by name or by pattern."""

from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, attribute_references, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Pattern


class RemoveSettings(Settings):
    """Options of the remove decorator."""

    other_names: ClassVar[None] = None

    attributes: list[str] = option("Names of attributes to remove.", default=[], example=["password", "token"])
    pattern: Pattern | None = option(
        "Regular expression; attributes in whose names it is found are removed.", default=None, example="^http_"
    )

    def reads(self) -> frozenset[str]:
        """The attributes that are listed."""
        return attribute_references(self.attributes)

    @model_validator(mode="after")
    def _removes_something(self) -> Self:
        if not self.attributes and self.pattern is None:
            raise PydanticCustomError("missing", "{owner} needs `attributes` or `pattern`")
        return self


class Remove(Decorator[RemoveSettings]):
    """
    Remove the listed attributes, and those whose names a pattern is found in; others stay.

    A removed attribute can be set again, also where attributes are written once. `select` names
    what stays.

    Source: ours.
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
            "all but the cells",
            settings="{pattern: '^(?!2hb_)'}",
            attributes={"user": "ann", "2hb_": "k1", "2hb_app:user": "ann"},
            after={"user": None},
        ),
        Example("absent ones are passed over", settings="{attributes: [a]}", attributes={"b": "1"}),
    )

    def __init__(self, settings: RemoveSettings) -> None:
        super().__init__(settings)
        self._names = tuple(settings.attributes)
        pattern = settings.pattern
        self._is_found: BoundedMemo[str, bool] | None = None
        if pattern is not None:
            search = pattern.search
            self._is_found = BoundedMemo(lambda name: search(name_to_bytes(name)) is not None)

    def decorate(self, event: Event) -> bool:
        """Remove them."""
        attributes = event.attributes
        for name in self._names:
            attributes.pop(name, None)
        is_found = self._is_found
        if is_found is not None:
            known = is_found.known
            for name in list(attributes):
                try:
                    is_removed = known[name]
                except KeyError:
                    is_removed = is_found[name]
                if is_removed:
                    del attributes[name]
        return True


class Mask(Remove):
    """
    Remove attributes: Flume's name of `remove`, with the same options.

    What is private inside a value is for `redact`.

    Source: Flume decorator `mask`.
    """

    kind = "mask"
    examples = (
        Example("one of two", settings="{attributes: [a]}", attributes={"a": "1", "b": "2"}, after={"a": None}),
        Example("an absent one is passed over", settings="{attributes: [c]}", attributes={"a": "1"}, after={}),
    )
