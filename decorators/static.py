"""Give attributes values that are the same for every event."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.notation import name_to_bytes


class StaticSettings(Settings):
    """Options of the static decorator."""

    other_names: ClassVar[None] = None

    attributes: dict[str, str] = option(
        "Name of each attribute and its value, which is taken as it stands: a percent sign is a percent sign.",
        example={"2hb_meta:env": "prod", "2hb_meta:site": "fra"},
        min_length=1,
    )

    def sets(self) -> frozenset[str]:
        """Those it has values for."""
        return frozenset(self.attributes)

    def surely_sets(self) -> frozenset[str]:
        """Always the same."""
        return self.set_references()


class Static(Decorator[StaticSettings]):
    """
    Set attributes to literal values, all in one step.

    Where a part of the event goes into a value, `template` does it.

    Source: ours.
    """

    kind = "static"
    examples = (
        Example(
            "where an event was taken in",
            settings="{attributes: {'2hb_meta:env': prod, '2hb_meta:site': fra}}",
            after={"2hb_meta:env": "prod", "2hb_meta:site": "fra"},
        ),
        Example(
            "nothing is expanded",
            settings="{attributes: {load: '100%', shown: '%{host}'}}",
            host="web-1",
            after={"load": "100%", "shown": "%{host}"},
        ),
    )

    def __init__(self, settings: StaticSettings) -> None:
        super().__init__(settings)
        self._values = {name: name_to_bytes(value) for name, value in settings.attributes.items()}

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        event.update(self._values)
        return True
