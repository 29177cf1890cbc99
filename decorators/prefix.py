"""Put a prefix before the names of attributes, or take one away."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, attribute_references, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.names import BoundedMemo, rename
from ingest.expressions import Pattern


class PrefixSettings(Settings):
    """Options of the prefix decorator."""

    add: str = option("Put before each name.", default="", example="2hb_app:")
    strip: str = option(
        "Taken away first; names that do not begin with it stay as they are.", default="", example="http_"
    )
    attributes: list[str] | None = option(
        "Only these attributes, by the names they have; all when left out.",
        default=None,
        example=["level", "user"],
        min_length=1,
    )
    pattern: Pattern | None = option(
        "Only attributes in whose names this regular expression is found, besides those listed.",
        default=None,
        example="^(?!2hb_)",
    )

    @property
    def other_names(self) -> str | None:
        """All new names begin with what is added."""
        return self.add

    def reads(self) -> frozenset[str]:
        """The attributes that are listed."""
        return attribute_references(self.attributes or ())

    def new_name(self, name: str) -> str:
        """The new name of an attribute; the old one if this decorator does not apply to it."""
        return self.add + name.removeprefix(self.strip) if self._is_meant(name) else name

    def _is_meant(self, name: str) -> bool:
        if not name.startswith(self.strip):
            return False
        if self.attributes is None and self.pattern is None:
            return True
        is_found = self.pattern is not None and self.pattern.search(name_to_bytes(name)) is not None
        return is_found or name in (self.attributes or ())

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.add and not self.strip:
            raise PydanticCustomError("missing", "prefix needs `add` or `strip`")
        return self


class Prefix(Decorator[PrefixSettings]):
    """
    Put a prefix before the names of attributes, take one away, or put one in another's place.

    A new name that another attribute has already replaces that one, or fails the event where attributes are written
    once. For other changes of names there is `rename`.

    Source: ours.
    """

    kind = "prefix"
    examples = (
        Example(
            "everything but the cells becomes cells",
            settings="{add: '2hb_app:', pattern: '^(?!2hb_)'}",
            attributes={"2hb_": "k1", "level": "warn", "user": "ann"},
            after={"level": None, "user": None, "2hb_app:level": "warn", "2hb_app:user": "ann"},
        ),
        Example(
            "some, by list",
            settings="{add: '2hb_app:', attributes: [level, size]}",
            attributes={"level": "warn", "user": "ann"},
            after={"level": None, "2hb_app:level": "warn"},
        ),
        Example(
            "one prefix for another",
            settings="{strip: http_, add: '2hb_web:'}",
            attributes={"http_status": "200", "took": "5"},
            after={"http_status": None, "2hb_web:status": "200"},
        ),
    )

    def __init__(self, settings: PrefixSettings) -> None:
        super().__init__(settings)
        self._new_names = BoundedMemo(settings.new_name)

    def decorate(self, event: Event) -> bool:
        """Give the new names."""
        rename(event, self._new_names)
        return True
