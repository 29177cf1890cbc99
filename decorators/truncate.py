"""Truncate text to a number of bytes."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import ByteSize, Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.in_place import InPlace, InPlaceSettings, cut


class TruncateSettings(InPlaceSettings):
    """Options of the truncate decorator."""

    max_bytes: ByteSize = option("Maximum size of a text; longer text is truncated.", example="4KiB", gt=0)
    suffix: str = option("Text at the end of truncated text; it counts towards `max_bytes`.", default="", example="…")

    @model_validator(mode="after")
    def _room(self) -> Self:
        if len(name_to_bytes(self.suffix)) > self.max_bytes:
            raise PydanticCustomError("out_of_range", "`suffix` is longer than `max_bytes`")
        return self


class Truncate(Decorator[TruncateSettings]):
    """
    Truncate the body, or the named attributes, to a number of bytes.

    UTF-8 characters are not split, so the result may be up to three bytes shorter; text that is not UTF-8 is cut at
    exactly this number. To limit the size of a whole event, use `max_size`; to remove characters from the ends, `trim`.

    Source: own design.
    """

    kind = "truncate"
    examples = (
        Example("a long body", settings="{max_bytes: 5B}", body="2238947398:56", body_after="22389"),
        Example("with a suffix", settings="{max_bytes: 8B, suffix: '…'}", body="2238947398:56", body_after="22389…"),
        Example("a character is not split", settings="{max_bytes: 4B}", body="größe", body_after="grö"),
        Example(
            "an attribute",
            settings="{max_bytes: 4B, attributes: [url]}",
            body="2238947398:56",
            attributes={"url": "/shop/cart"},
            after={"url": "/sho"},
        ),
    )

    def __init__(self, settings: TruncateSettings) -> None:
        super().__init__(settings)
        self._max_bytes = settings.max_bytes
        self._suffix = name_to_bytes(settings.suffix)
        self._max_prefix_bytes = self._max_bytes - len(self._suffix)
        self._texts = InPlace(settings, self._cut)

    def decorate(self, event: Event) -> bool:
        """Truncate the texts of the event."""
        self._texts.apply(event)
        return True

    def _cut(self, text: bytes) -> bytes:
        return text if len(text) <= self._max_bytes else cut(text, self._max_prefix_bytes) + self._suffix
