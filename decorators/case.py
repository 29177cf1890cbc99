"""Write values in upper case, lower case, or as titles."""

from enum import StrEnum

from ingest.api import Decorator, Event, Example, option
from ingest.decorating.edits import EditSettings, edit
from ingest.expressions.texts import lower, title, upper


class Letters(StrEnum):
    """How letters are written."""

    UPPER = "upper"
    LOWER = "lower"
    TITLE = "title"


_CHANGES = {Letters.UPPER: upper, Letters.LOWER: lower, Letters.TITLE: title}


class CaseSettings(EditSettings):
    """Options of the case decorator."""

    to: Letters = option(
        "`upper` or `lower` case, or `title`: each word begins with an upper-case letter, the rest is lower case.",
        example="lower",
        strict=False,
    )


class Case(Decorator[CaseSettings]):
    """
    Write the letters of the body or of attributes in upper or lower case, or as in a title.

    Text is UTF-8; other bytes stay unchanged. The rules are Unicode's, without those of any language: i becomes I, also
    in Turkish, and ß becomes SS. Words are letters and digits, with apostrophes between them.

    Source: ours.
    """

    kind = "case"
    examples = (
        Example(
            "levels that are written in many ways",
            settings="{source: level, to: upper}",
            attributes={"level": "Warn"},
            after={"level": "WARN"},
        ),
        Example(
            "several into others",
            settings="{attributes: {city: '2hb_geo:city', street: '2hb_geo:street'}, to: title}",
            attributes={"city": "BAD ZÜRICH-SÜD", "street": "o'neill's way 3rd"},
            after={"2hb_geo:city": "Bad Zürich-Süd", "2hb_geo:street": "O'neill's Way 3rd"},
        ),
        Example(
            "the body; bytes that are no text stay",
            settings="{to: lower}",
            body=b"\xffA\xc3\x9c",
            body_after=b"\xffa\xc3\xbc",
        ),
        Example(
            "an absent attribute is passed over",
            settings="{attributes: [a, b], to: upper}",
            attributes={"b": "x"},
            after={"b": "X"},
        ),
        Example(
            "or fails the event",
            settings="{attributes: [a, b], to: upper, on_missing: error}",
            attributes={"b": "x"},
            error="no_attribute",
        ),
    )

    def __init__(self, settings: CaseSettings) -> None:
        super().__init__(settings)
        self._edit = edit(settings, _CHANGES[settings.to])

    def decorate(self, event: Event) -> bool:
        """Change the letters."""
        self._edit(event)
        return True
