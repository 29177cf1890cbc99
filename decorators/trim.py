"""Trim white space or other characters from values."""

from collections.abc import Callable
from enum import StrEnum

from ingest.api import Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.edits import Change, EditSettings, edit
from ingest.expressions.texts import bytes_of, characters_of


class End(StrEnum):
    """The end that is trimmed."""

    BOTH = "both"
    START = "start"
    STOP = "end"


class TrimSettings(EditSettings):
    """Options of the trim decorator."""

    characters: str | None = option(
        "The characters to remove, in any order and number; ASCII white space when left out.",
        default=None,
        example='" ',
        min_length=1,
    )
    end: End = option("The end to trim: `both`, `start` or `end`.", default="both", strict=False)


class Trim(Decorator[TrimSettings]):
    r"""
    Remove white space or other characters from the ends of the body or of attributes.

    In YAML, text in double quotes can contain any character: "\0" removes the NULs that pad a field. Bytes that are not
    UTF-8 stay unchanged. To limit the number of bytes, use `truncate`.

    Source: own design.
    """

    kind = "trim"
    examples = (
        Example("the body", settings="{}", body=" up 3 days \r\n", body_after="up 3 days"),
        Example(
            "quotes and spaces around several attributes",
            settings="{attributes: [user, agent], characters: '\" '}",
            attributes={"user": '"ann" ', "agent": 'curl "8"'},
            after={"user": "ann", "agent": 'curl "8'},
        ),
        Example(
            "leading zeros, into another attribute",
            settings="{source: id, attribute: '2hb_app:id', characters: '0', end: start}",
            attributes={"id": "000420"},
            after={"2hb_app:id": "420"},
        ),
        Example(
            "an absent attribute, with `on_missing: error`",
            settings="{source: id, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: TrimSettings) -> None:
        super().__init__(settings)
        self._edit = edit(settings, _trimmer(settings.characters, settings.end))

    def decorate(self, event: Event) -> bool:
        """Trim the values."""
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
    # a character of several bytes must be removed as a whole
    known = characters_of(name_to_bytes(characters))
    cut_characters = {End.BOTH: str.strip, End.START: str.lstrip, End.STOP: str.rstrip}[end]
    return lambda value: bytes_of(cut_characters(characters_of(value), known))
