"""Keep some attributes and remove all others."""

from typing import ClassVar, Self

from pydantic import model_validator

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.edits import each_once


class SelectSettings(Settings):
    """Options of the select decorator."""

    other_names: ClassVar[None] = None

    attributes: list[str] = option(
        "Names of the attributes to keep; `[]` removes all.", example=["2hb_", "2hb_web:url"]
    )

    def may_remove(self, name: str) -> bool:
        """All that are not listed."""
        return name not in self.attributes

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        each_once(self.attributes, "attributes")
        return self


class Select(Decorator[SelectSettings]):
    """
    Keep only the listed attributes; those that the event does not have are ignored.

    Body, host, priority and times stay. To list the attributes to remove instead, use `remove`. To keep
    headers of Kafka records from being read at all, use the source's `headers`.

    Source: Flume decorator `select`.
    """

    kind = "select"
    examples = (
        Example(
            "one of two",
            settings="{attributes: [a]}",
            attributes={"a": "1", "b": "2"},
            after={"b": None},
        ),
        Example(
            "none of two", settings="{attributes: []}", attributes={"a": "1", "b": "2"}, after={"a": None, "b": None}
        ),
        Example("an absent attribute is ignored", settings="{attributes: [a, c]}", attributes={"a": "1"}, after={}),
    )

    def __init__(self, settings: SelectSettings) -> None:
        super().__init__(settings)
        self._names = frozenset(settings.attributes)

    def decorate(self, event: Event) -> bool:
        """Remove the other attributes."""
        names = self._names
        event.attributes = {name: value for name, value in event.attributes.items() if name in names}
        return True
