"""Add a prefix to attribute names, or remove one."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, attribute_references, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.names import BoundedMemo, rename
from ingest.expressions import Pattern


class PrefixSettings(Settings):
    """Options of the prefix decorator."""

    add: str = option("Prefix that is added to each name.", default="", example="2hb_app:")
    strip: str = option("Prefix that is removed first; names without it stay unchanged.", default="", example="http_")
    attributes: list[str] | None = option(
        "Only these attributes, by their old names; all when left out.",
        default=None,
        example=["level", "user"],
        min_length=1,
    )
    pattern: Pattern | None = option(
        "Only attributes whose names match this regular expression, in addition to those listed.",
        default=None,
        example="^(?!2hb_)",
    )

    @property
    def other_names(self) -> str | None:
        """All new names begin with `add`."""
        return self.add

    def reads(self) -> frozenset[str]:
        """The attributes that are listed."""
        return attribute_references(self.attributes or ())

    def new_name(self, name: str) -> str:
        """The new name of an attribute; the old one if this decorator does not apply to it."""
        return self.add + name.removeprefix(self.strip) if self._applies_to(name) else name

    def _applies_to(self, name: str) -> bool:
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
    Add a prefix to attribute names, remove one, or replace one.

    If another attribute has the new name, it is replaced; if attributes are written once, the event fails instead. The
    pattern works on the characters of names (docs/reference/expressions.md). For other changes of names, use `rename`.

    Source: own design.
    """

    kind = "prefix"
    examples = (
        Example(
            "all other attributes become cells",
            settings="{add: '2hb_app:', pattern: '^(?!2hb_)'}",
            attributes={"2hb_": "k1", "level": "warn", "user": "ann"},
            after={"level": None, "user": None, "2hb_app:level": "warn", "2hb_app:user": "ann"},
        ),
        Example(
            "listed attributes",
            settings="{add: '2hb_app:', attributes: [level, size]}",
            attributes={"level": "warn", "user": "ann"},
            after={"level": None, "2hb_app:level": "warn"},
        ),
        Example(
            "a prefix is replaced",
            settings="{strip: http_, add: '2hb_web:'}",
            attributes={"http_status": "200", "took": "5"},
            after={"http_status": None, "2hb_web:status": "200"},
        ),
    )

    def __init__(self, settings: PrefixSettings) -> None:
        super().__init__(settings)
        self._new_names = BoundedMemo(settings.new_name)

    def decorate(self, event: Event) -> bool:
        """Rename the attributes."""
        rename(event, self._new_names)
        return True
