"""Convert text to upper case, lower case or title case."""

from enum import StrEnum

from ingest.api import Decorator, Event, Example, option
from ingest.decorating.edits import EditSettings, edit
from ingest.expressions.texts import lower, title, upper


class LetterCase(StrEnum):
    """The case of the result."""

    UPPER = "upper"
    LOWER = "lower"
    TITLE = "title"


_CONVERSIONS = {LetterCase.UPPER: upper, LetterCase.LOWER: lower, LetterCase.TITLE: title}


class CaseSettings(EditSettings):
    """Options of the case decorator."""

    to: LetterCase = option(
        "`upper` or `lower` case, or `title`: the first letter of each word in upper case, the others in lower case.",
        example="lower",
        strict=False,
    )


class Case(Decorator[CaseSettings]):
    """
    Convert the letters of the body or of attributes to upper, lower or title case.

    Text is UTF-8; other bytes stay unchanged. The rules are Unicode's and do not depend on a language: i becomes I,
    also in Turkish, and ß becomes SS. Words consist of letters and digits, with apostrophes between them.

    Source: own design.
    """

    kind = "case"
    examples = (
        Example(
            "levels in one case",
            settings="{source: level, to: upper}",
            attributes={"level": "Warn"},
            after={"level": "WARN"},
        ),
        Example(
            "several attributes, written into others",
            settings="{attributes: {city: '2hb_geo:city', street: '2hb_geo:street'}, to: title}",
            attributes={"city": "BAD ZÜRICH-SÜD", "street": "o'neill's way 3rd"},
            after={"2hb_geo:city": "Bad Zürich-Süd", "2hb_geo:street": "O'neill's Way 3rd"},
        ),
        Example(
            "the body; bytes that are not UTF-8 stay",
            settings="{to: lower}",
            body=b"\xffA\xc3\x9c",
            body_after=b"\xffa\xc3\xbc",
        ),
        Example(
            "an absent attribute is skipped",
            settings="{attributes: [a, b], to: upper}",
            attributes={"b": "x"},
            after={"b": "X"},
        ),
        Example(
            "an absent attribute with `on_missing: error`",
            settings="{attributes: [a, b], to: upper, on_missing: error}",
            attributes={"b": "x"},
            error="no_attribute",
        ),
    )

    def __init__(self, settings: CaseSettings) -> None:
        super().__init__(settings)
        self._edit = edit(settings, _CONVERSIONS[settings.to])

    def decorate(self, event: Event) -> bool:
        """Convert the letters."""
        self._edit(event)
        return True
