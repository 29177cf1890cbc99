"""Join the values of several attributes."""

from enum import StrEnum
from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.event_errors import NoAttributeError
from ingest.api.notation import name_to_bytes


class OnMissingPiece(StrEnum):
    """The action for an absent attribute."""

    SKIP = "skip"
    EMPTY = "empty"
    ERROR = "error"


class JoinSettings(Settings):
    """Options of the join decorator."""

    other_names: ClassVar[None] = None

    sources: list[str] = option(
        "Attributes that are joined, in this order.", example=["first_name", "last_name"], min_length=1
    )
    attribute: str = option("Attribute that receives the result.", example="2hb_user:name")
    separator: str = option("Separator between two values.", default=" ", example=", ")
    on_missing: OnMissingPiece = option(
        "An attribute that the event does not have: omit it and its separator (`skip`), use an `empty` value, or fail "
        "the event (`error`).",
        default="skip",
        strict=False,
    )


class Join(Decorator[JoinSettings]):
    """
    Join the values of attributes with a separator and put the result into one.

    If the event has none of the attributes and they are skipped, nothing is set. For different text between the values,
    use `template`.

    Source: own design.
    """

    kind = "join"
    examples = (
        Example(
            "two names",
            settings="{sources: [first, last], attribute: '2hb_user:name'}",
            attributes={"first": "Ada", "last": "Lovelace"},
            after={"2hb_user:name": "Ada Lovelace"},
        ),
        Example(
            "an absent attribute, with `on_missing: skip`",
            settings="{sources: [country, region, city], separator: /, attribute: place}",
            attributes={"country": "de", "city": "fra"},
            after={"place": "de/fra"},
        ),
        Example(
            "an absent attribute, with `on_missing: empty`",
            settings="{sources: [country, region, city], separator: /, attribute: place, on_missing: empty}",
            attributes={"country": "de", "city": "fra"},
            after={"place": "de//fra"},
        ),
        Example(
            "an absent attribute, with `on_missing: error`",
            settings="{sources: [country, region], attribute: place, on_missing: error}",
            attributes={"country": "de"},
            error="no_attribute",
        ),
    )

    def __init__(self, settings: JoinSettings) -> None:
        super().__init__(settings)
        self._sources = tuple(settings.sources)
        self._attribute = settings.attribute
        self._separator = name_to_bytes(settings.separator)
        self._skips = settings.on_missing is OnMissingPiece.SKIP
        self._fills = settings.on_missing is OnMissingPiece.EMPTY

    def decorate(self, event: Event) -> bool:
        """Set the attribute."""
        attributes = event.attributes
        if self._fills:
            values = [attributes.get(name, b"") for name in self._sources]
        else:
            values = [attributes[name] for name in self._sources if name in attributes]
            if not self._skips and len(values) < len(self._sources):
                missing = next(name for name in self._sources if name not in attributes)
                raise NoAttributeError(f'no attribute "{missing}" to join')
        if values:
            event.set(self._attribute, self._separator.join(values))
        return True
