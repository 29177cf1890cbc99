"""Cut white space, or other characters, off the ends of values."""

from collections.abc import Callable
from enum import StrEnum

from ingest.api import Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.edits import Change, EditSettings, edit
from ingest.expressions.texts import bytes_of, characters_of


class End(StrEnum):
    """Where characters are cut off."""

    BOTH = "both"
    START = "start"
    STOP = "end"


class TrimSettings(EditSettings):
    """Options of the trim decorator."""

    characters: str | None = option(
        "The characters that are cut off, in any order and number; white space of ASCII when left out.",
        default=None,
        example='" ',
        min_length=1,
    )
    end: End = option("Which end: `both`, `start` or `end`.", default="both", strict=False)


class Trim(Decorator[TrimSettings]):
    r"""
    Cut white space or other characters off the ends of the body or of attributes.

    In YAML a text in double quotes may name any character: "\0" cuts off the zeros that fill a field. Bytes that are
    not UTF-8 stay as they are. To cut at a number of bytes, take `truncate`.

    Source: ours.
    """

    kind = "trim"
    examples = (
        Example("the body", settings="{}", body=" up 3 days \r\n", body_after="up 3 days"),
        Example(
            "quotes and blanks around several attributes",
            settings="{attributes: [user, agent], characters: '\" '}",
            attributes={"user": '"ann" ', "agent": 'curl "8"'},
            after={"user": "ann", "agent": 'curl "8'},
        ),
        Example(
            "zeros in front of a number, into another attribute",
            settings="{source: id, attribute: '2hb_app:id', characters: '0', end: start}",
            attributes={"id": "000420"},
            after={"2hb_app:id": "420"},
        ),
        Example("an absent attribute", settings="{source: id, on_missing: error}", error="no_attribute"),
    )

    def __init__(self, settings: TrimSettings) -> None:
        super().__init__(settings)
        self._edit = edit(settings, _trimmer(settings.characters, settings.end))

    def decorate(self, event: Event) -> bool:
        """Cut the ends off."""
        self._edit(event)
        return True


def _trimmer(characters: str | None, end: End) -> Change:
    if characters is None or characters.isascii():
        unwanted = None if characters is None else characters.encode("ascii")
        cut: Callable[[bytes, bytes | None], bytes] = {
            End.BOTH: bytes.strip,
            End.START: bytes.lstrip,
            End.STOP: bytes.rstrip,
        }[end]
        return lambda value: cut(value, unwanted)
    # bytes of a character of several must go together
    known = characters_of(name_to_bytes(characters))
    cut_characters = {End.BOTH: str.strip, End.START: str.lstrip, End.STOP: str.rstrip}[end]
    return lambda value: bytes_of(cut_characters(characters_of(value), known))
