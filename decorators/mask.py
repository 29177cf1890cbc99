"""Remove some attributes."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option


class MaskSettings(Settings):
    """Options of the mask decorator."""

    other_names: ClassVar[None] = None

    attributes: list[str] = option("Names of the attributes to remove.", example=["password"], min_length=1)

    def takes(self) -> frozenset[str]:
        """Those that are listed."""
        return frozenset(self.attributes)


class Mask(Decorator[MaskSettings]):
    """
    Remove the listed attributes; those the event does not have are passed over.

    A removed attribute can be set again, also where attributes are written once. By a pattern `remove` does the same;
    what is private inside a value is for `redact`.

    Source: Flume decorator `mask`.
    """

    kind = "mask"
    examples = (
        Example("one of two", settings="{attributes: [a]}", attributes={"a": "1", "b": "2"}, after={"a": None}),
        Example("an absent one is passed over", settings="{attributes: [c]}", attributes={"a": "1"}, after={}),
    )

    def __init__(self, settings: MaskSettings) -> None:
        super().__init__(settings)
        self._names = tuple(settings.attributes)

    def decorate(self, event: Event) -> bool:
        """Remove the attributes."""
        attributes = event.attributes
        for name in self._names:
            attributes.pop(name, None)
        return True
