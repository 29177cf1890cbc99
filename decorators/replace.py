"""Replace parts of values."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.edits import Change, EditSettings, edit
from ingest.expressions import Pattern
from ingest.expressions.pattern import check_replacement
from ingest.expressions.texts import replacer


class ReplaceSettings(EditSettings):
    """Options of the replace decorator."""

    text: str | None = option("Text that is replaced.", default=None, example="/", min_length=1)
    pattern: Pattern | None = option(
        "Regular expression of the text that is replaced, instead of `text`.", default=None, example="user=(\\w+)"
    )
    replacement: str = option(
        "Replacement. With `pattern`, `\\1` is the first group, `\\g<name>` a named group, `\\0` the whole match, and "
        "`\\\\` a backslash.",
        example="user=***",
    )
    max_places: int | None = option(
        "Maximum number of replacements, from the left; all matches when left out.", default=None, example=1, ge=1
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.text is None) is (self.pattern is None):
            raise PydanticCustomError("conflict", "replace needs one of `text` and `pattern`")
        if self.pattern is not None:
            check_replacement(self.pattern, self.replacement)
        return self


class Replace(Decorator[ReplaceSettings]):
    """
    Replace a text, or what a regular expression matches, in the body or in attributes.

    A value without a match stays unchanged. The pattern works on characters if the value is UTF-8, else on bytes
    (docs/reference/expressions.md); a group that takes no part in the match is empty. A result of more than 64 MiB, or
    four times the value, fails the event with `too_large`. To redact private data, use `redact`, which finds addresses,
    card numbers and tokens.

    Source: own design.
    """

    kind = "replace"
    examples = (
        Example(
            "a text",
            settings="{source: path, text: /, replacement: .}",
            attributes={"path": "shop/cart/item"},
            after={"path": "shop.cart.item"},
        ),
        Example(
            "numbers in the body, by pattern",
            settings="{pattern: '(user|order)/\\d+', replacement: '\\1/N'}",
            body="GET /user/17/order/4711",
            body_after="GET /user/N/order/N",
        ),
        Example(
            "the first match only, into other attributes",
            settings="{attributes: {host: '2hb_web:host', site: '2hb_web:site'}, text: ., replacement: ':', "
            "max_places: 1}",
            attributes={"host": "web1.example.com", "site": "home"},
            after={"2hb_web:host": "web1:example.com", "2hb_web:site": "home"},
        ),
        Example(
            "a class of characters",
            settings="{pattern: '[éèê]', replacement: e}",
            body="à la carte, détour",
            body_after="à la carte, detour",
        ),
        Example(
            "an absent attribute, with `on_missing: error`",
            settings="{source: path, text: a, replacement: b, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: ReplaceSettings) -> None:
        super().__init__(settings)
        self._edit = edit(settings, _replacer(settings))

    def decorate(self, event: Event) -> bool:
        """Replace the matches."""
        self._edit(event)
        return True


def _replacer(settings: ReplaceSettings) -> Change:
    if settings.pattern is not None:
        return settings.pattern.replacer(settings.replacement, settings.max_places or 0)
    old, new = name_to_bytes(settings.text or ""), name_to_bytes(settings.replacement)
    return replacer(old, new, -1 if settings.max_places is None else settings.max_places)
