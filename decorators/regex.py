"""Put groups of a regular expression into attributes."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.decorating.edits import each_once
from ingest.decorating.errors import NoMatchError
from ingest.expressions import Pattern


class UnmatchedGroupError(DecorateError):
    """A group of the pattern did not match, with on_unmatched: error."""

    code = "unmatched_group"
    remedy = "Choose another `on_unmatched`, or correct the pattern."


class OnNoMatch(StrEnum):
    """The action for text without a match."""

    ERROR = "error"
    KEEP = "keep"
    DROP = "drop"
    EMPTY = "empty"


class OnUnmatched(StrEnum):
    """The action for a group that takes no part in the match."""

    UNSET = "unset"
    EMPTY = "empty"
    ERROR = "error"


class RegexSettings(Settings):
    """Options of the regex decorator."""

    other_names: ClassVar[None] = None

    pattern: Pattern = option("Regular expression; its first match is used.", example="(\\d+):(\\d+)")
    index: int | None = option(
        "Number of the group, 0 for the whole match; needs `attribute`.", default=None, example=1, ge=0
    )
    attribute: str | None = option("Attribute that receives the group.", default=None, example="2hb_web:status")
    attributes: list[str] | None = option(
        "Attribute names of the groups, from 1 on; an empty name skips its group. Without `attribute` and "
        "`attributes`, the named groups `(?P<name>…)` become attributes.",
        default=None,
        example=["ip", "", "user"],
        min_length=1,
    )
    prefix: str = option("Put before every attribute name.", default="", example="2hb_web:")
    source: str | None = option("Attribute to search; the body if left out.", default=None, example="path")
    on_no_match: OnNoMatch | None = option(
        "Text without a match, or an absent attribute: the event fails (`error`), passes unchanged (`keep`), is "
        "dropped (`drop`), or gets `empty` values. Left out: `empty` with `attribute`, otherwise `keep`.",
        default=None,
        strict=False,
    )
    on_unmatched: OnUnmatched = option(
        "A group that takes no part in the match: its attribute is not set (`unset`), is `empty`, or the event fails "
        "(`error`).",
        default="unset",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the groups."""
        return frozenset(self.groups())

    @property
    def without_match(self) -> OnNoMatch:
        """The action for text without a match."""
        return self.on_no_match or (OnNoMatch.KEEP if self.attribute is None else OnNoMatch.EMPTY)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.index is None) is not (self.attribute is None) or (
            self.attributes is not None and self.attribute is not None
        ):
            raise PydanticCustomError("conflict", "regex needs `index` and `attribute`, or `attributes` without them")
        if self.attributes is not None and len(self.attributes) > self.pattern.groups:
            raise PydanticCustomError(
                "out_of_range",
                "`attributes` has {names} names, but the pattern has {groups} groups",
                {"names": len(self.attributes), "groups": self.pattern.groups},
            )
        if self.attributes is None and self.attribute is None and not self.pattern.names:
            raise PydanticCustomError(
                "missing", "regex needs `index` and `attribute`, `attributes`, or a pattern with named groups"
            )
        each_once(filter(None, self.attributes or ()), "attributes")
        return self

    def lint_warnings(self) -> Mapping[str, str]:
        """A group that the pattern does not have, or groups without a name."""
        most = self.pattern.groups
        groups = f"the pattern has {most} group{'' if most == 1 else 's'}"
        if self.index is not None and self.index > most:
            return {"index": f"{groups}, so no text matches"}
        named = most if self.attributes is None else len(self.attributes)
        if named == most:
            return {}
        return {
            "attributes": f"{groups}, and {named} of them {'has a name' if named == 1 else 'have names'}: add the "
            "others, with '' for a group that sets no attribute, or write (?:…) for a group that is not captured"
        }

    def groups(self) -> dict[str, int]:
        """Attribute name -> group number, in the order of the groups."""
        if self.attribute is not None:
            return {self.prefix + self.attribute: self.index or 0}
        if self.attributes is not None:
            return {self.prefix + name: number for number, name in enumerate(self.attributes, 1) if name}
        return {self.prefix + name: number for name, number in self.pattern.names.items()}


class Regex(Decorator[RegexSettings]):
    """
    Search the body, or an attribute, and put groups of the first match into attributes.

    The pattern may match anywhere in the text. It works on characters if the text is UTF-8, else on bytes
    (docs/reference/expressions.md); values are unchanged bytes of the text. If the pattern does not have the group
    number, no text matches. For predefined patterns, use `grok`; for pieces between
    separators, `split`.

    Source: Flume decorators `regex` (`index` and `attribute`) and `regexAll` (`attributes`).
    """

    kind = "regex"
    examples = (
        Example(
            "one group",
            settings="{pattern: '(\\d+):(\\d+):(\\d+)', index: 3, attribute: x}",
            body="55:66:33:22",
            after={"x": "33"},
        ),
        Example(
            "named groups become columns",
            settings="{pattern: '(?P<ip>\\S+) (?P<status>\\d+)', prefix: '2hb_web:'}",
            body="10.0.0.1 404",
            after={"2hb_web:ip": "10.0.0.1", "2hb_web:status": "404"},
        ),
        Example(
            "groups by number",
            settings="{pattern: '(\\d):(\\d):(\\d)', attributes: [d1, '', d2]}",
            body="1:2:3.4foobar5",
            after={"d1": "1", "d2": "3"},
        ),
        Example(
            "an optional group that takes no part",
            settings="{pattern: '(?P<a>\\d)(?P<b>x)?'}",
            body="1",
            after={"a": "1"},
        ),
        Example(
            "no match, with `on_no_match: error`",
            settings="{pattern: '(?P<a>\\d+)', on_no_match: error}",
            body="abc",
            error="no_match",
        ),
    )

    def __init__(self, settings: RegexSettings) -> None:
        super().__init__(settings)
        groups = {name: number for name, number in settings.groups().items() if number <= settings.pattern.groups}
        self._source = settings.source
        self._search, self._search_ascii = settings.pattern.search, settings.pattern.search_ascii
        self._names = tuple(groups)
        self._numbers = tuple(groups.values())
        self._is_whole = self._numbers == tuple(range(1, settings.pattern.groups + 1))
        self._empty = dict.fromkeys(settings.groups(), b"")
        self._on_no_match = settings.without_match

    @property
    def drop_reason(self) -> str:
        """The reason for events whose text has no match."""
        return NoMatchError.code

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        if text is None:
            return self._no_match(event)
        match = self._search_ascii(text) if text.isascii() else self._search(text)
        if match is None or not self._names:
            return self._no_match(event)
        if self._is_whole:
            values = match.groups()
        elif len(self._numbers) == 1:
            values = (match[self._numbers[0]],)
        else:
            values = match.group(*self._numbers)
        found = zip(self._names, values)  # noqa: B905 - `strict` takes as long as three groups
        if not all(values) and None in values:
            event.update(self._without_gaps(dict(found)))
        else:
            event.update(found)
        return True

    def _without_gaps(self, found: Mapping[str, bytes | None]) -> dict[str, bytes]:
        policy = self.settings.on_unmatched
        if policy is OnUnmatched.EMPTY:
            return {name: value or b"" for name, value in found.items()}
        matched = {name: value for name, value in found.items() if value is not None}
        if policy is OnUnmatched.ERROR:
            missing = next(name for name in found if name not in matched)
            raise UnmatchedGroupError(f'the group for "{missing}" took no part in the match')
        return matched

    def _no_match(self, event: Event) -> bool:
        match self._on_no_match:
            case OnNoMatch.EMPTY:
                event.update(self._empty)
            case OnNoMatch.DROP:
                return False
            case OnNoMatch.ERROR:
                event.text_of(self._source, "to search")
                raise NoMatchError("the pattern does not match")
            case OnNoMatch.KEEP:
                pass
        return True
