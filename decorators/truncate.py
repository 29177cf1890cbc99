"""Cut what is longer than it should be."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import ByteSize, Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.in_place import InPlace, InPlaceSettings, cut


class TruncateSettings(InPlaceSettings):
    """Options of the truncate decorator."""

    max_bytes: ByteSize = option("What is longer is cut to so many bytes at the most.", example="4KiB", gt=0)
    suffix: str = option("Put at the end of what was cut; it counts.", default="", example="…")

    @model_validator(mode="after")
    def _room(self) -> Self:
        if len(name_to_bytes(self.suffix)) > self.max_bytes:
            raise PydanticCustomError("out_of_range", "`suffix` is longer than `max_bytes`")
        return self


class Truncate(Decorator[TruncateSettings]):
    """
    Cut the body, or the attributes that are named, to a number of bytes.

    No character of UTF-8 is cut in two, so a text may end up to three bytes earlier; what is not UTF-8 is cut at the
    number itself. What is too large as a whole event is for `max_size`, characters at the ends are for `trim`.

    Source: ours.
    """

    kind = "truncate"
    examples = (
        Example("a long body", settings="{max_bytes: 5B}", body="2238947398:56", body_after="22389"),
        Example("with a mark", settings="{max_bytes: 8B, suffix: '…'}", body="2238947398:56", body_after="22389…"),
        Example("no character is cut in two", settings="{max_bytes: 4B}", body="größe", body_after="grö"),
        Example(
            "an attribute alone",
            settings="{max_bytes: 4B, attributes: [url]}",
            body="2238947398:56",
            attributes={"url": "/shop/cart"},
            after={"url": "/sho"},
        ),
    )

    def __init__(self, settings: TruncateSettings) -> None:
        super().__init__(settings)
        self._most = settings.max_bytes
        self._suffix = name_to_bytes(settings.suffix)
        self._room = self._most - len(self._suffix)
        self._texts = InPlace(settings, self._cut)

    def decorate(self, event: Event) -> bool:
        """Cut its texts."""
        self._texts.apply(event)
        return True

    def _cut(self, text: bytes) -> bytes:
        return text if len(text) <= self._most else cut(text, self._room) + self._suffix
