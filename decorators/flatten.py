"""Flatten attributes whose values are JSON."""

from typing import Annotated

from pydantic import Field

from ingest.api import DecorateError, Decorator, Event, Example, Settings, attribute_references, option
from ingest.api.event_errors import BadJsonError
from ingest.decorating.choices import FailureAction
from ingest.decorating.names import BoundedMemo
from ingest.formats.json_text import attributes_of, read_json
from ingest.formats.nested import MAX_LEVELS, Arrays, Flattening, NestedSettings, OnNull
from ingest.formats.number_types import Numbers, json_writer

_BRACKETS = (b"{", b"[")
_Names = Annotated[list[str], Field(min_length=1)]
_Prefixes = Annotated[dict[str, str], Field(min_length=1)]


class FlattenSettings(Settings):
    """Options of the flatten decorator."""

    attributes: _Names | _Prefixes | None = option(
        "A list of attributes, whose names precede the members', or a mapping from attributes to prefixes "
        "that precede them instead. Left out: all attributes whose values start with a brace or bracket.",
        default=None,
        example={"payload": "2hb_app:"},
    )
    separator: str = option("Separator between the names of nested members.", default=".")
    arrays: Arrays = option(
        "A nested array becomes an attribute for each element, named by its `index` from 0, or its JSON `text`, or is "
        "ignored (`unset`).",
        default="index",
        strict=False,
    )
    max_levels: int | None = option(
        "Levels of objects and arrays whose members become attributes: with 1 an inner object or array becomes one "
        "attribute with its JSON. All levels when left out.",
        default=None,
        example=1,
        ge=1,
        le=MAX_LEVELS,
    )
    numbers: Numbers = option(
        "How numbers are written: as `text`; in binary form (`auto`), an integer as int64 and any other number as "
        "float64; or all as `float64`, as by `json`.",
        default="text",
        strict=False,
    )
    keep: bool = option("Keep the attribute that was flattened.", default=False)
    on_null: OnNull = option(
        "A null sets nothing (`unset`), an `empty` value, or fails the event (`error`).", default="unset", strict=False
    )
    on_invalid: FailureAction | None = option(
        "A value that is not a JSON object or array, or is nested deeper than 100 levels: the event fails (`error`) "
        "or is dropped (`drop`), or the attribute stays unchanged (`keep`). Left out: `error` for listed attributes, "
        "otherwise `keep`.",
        default=None,
        strict=False,
    )

    def reads(self) -> frozenset[str]:
        """The attributes that are listed."""
        return attribute_references(self.attributes or ())

    @property
    def writes_binary(self) -> bool:
        """Whether numbers are in binary form."""
        return self.numbers is not Numbers.TEXT

    def members_of(self, name: str) -> str | None:
        """Prefix of the names of the members of an attribute; None for an attribute that is not flattened."""
        if isinstance(self.attributes, dict):
            return self.attributes.get(name)
        return name + self.separator if self.attributes is None or name in self.attributes else None


class Flatten(Decorator[FlattenSettings]):
    """
    Set attributes from the members of JSON objects, and the elements of JSON arrays, that other attributes contain.

    Nested members get dotted names. Text, numbers and booleans are written as by `json`, which reads the body; an empty
    object or array sets nothing. Listed attributes that the event does not have are skipped.

    Source: own design.
    """

    kind = "flatten"
    examples = (
        Example(
            "objects and arrays",
            settings="{attributes: [user]}",
            attributes={"user": '{"id": 7, "tags": ["a", {"x": 1.50}], "gone": null}'},
            after={"user": None, "user.id": "7", "user.tags.0": "a", "user.tags.1.x": "1.50"},
        ),
        Example(
            "with a prefix; the original stays",
            settings="{attributes: {payload: '2hb_app:'}, arrays: text, keep: true}",
            attributes={"payload": '{"level": "warn", "took": [1, 2]}'},
            after={"2hb_app:level": "warn", "2hb_app:took": "[1,2]"},
        ),
        Example(
            "all attributes that contain JSON",
            settings="{separator: _}",
            attributes={"a": "[true, 0]", "b": "[main] started", "c": "7"},
            after={"a": None, "a_0": "true", "a_1": "0"},
        ),
        Example(
            "numbers as HBase's tools write them",
            settings="{attributes: {payload: '2hb_m:'}, numbers: auto}",
            attributes={"payload": '{"rx": 100, "load": 2.5}'},
            after={"payload": None, "2hb_m:rx": "\0\0\0\0\0\0\0d", "2hb_m:load": "@\4\0\0\0\0\0\0"},
        ),
        Example("not JSON", settings="{attributes: [a]}", attributes={"a": "7 up"}, error="bad_json"),
        Example(
            "a null with `on_null: error`",
            settings="{on_null: error}",
            attributes={"a": '{"b": null}'},
            error="null_value",
        ),
        Example(
            "nested too deep", settings="{attributes: [a]}", attributes={"a": "[" * 200 + "]" * 200}, error="too_deep"
        ),
    )

    def __init__(self, settings: FlattenSettings) -> None:
        super().__init__(settings)
        listed = settings.attributes
        self._listed = None if listed is None else tuple(listed)
        self._write = json_writer(settings.numbers)
        self._flattenings = BoundedMemo(self._flattening)
        on_invalid = settings.on_invalid or (FailureAction.KEEP if listed is None else FailureAction.ERROR)
        self._actions = dict.fromkeys(("bad_json", "too_deep"), on_invalid)

    @property
    def drop_reason(self) -> str:
        """The reason for events with a value that cannot be flattened."""
        return BadJsonError.code

    def decorate(self, event: Event) -> bool:
        """Flatten the attributes."""
        before = event.attributes
        flattened: dict[str, dict[str, bytes]] = {}
        for name in self._listed or before:
            value = before.get(name)
            if value is None or (self._listed is None and not value.startswith(_BRACKETS)):
                continue
            try:
                flattened[name] = self._members(name, value)
            except DecorateError as error:
                if not self._actions.get(error.code, FailureAction.ERROR).keeps_or_raises(error):
                    return False
        if not flattened:
            return True
        if not self.settings.keep:
            event.attributes = {name: value for name, value in before.items() if name not in flattened}
        else:
            event.attributes = dict(before)
        try:
            for members in flattened.values():
                event.update(members)
        except BaseException:
            event.attributes = before
            raise
        return True

    def _members(self, name: str, value: bytes) -> dict[str, bytes]:
        content = read_json(value)
        if not isinstance(content, dict | list):
            raise BadJsonError(f'"{name}" is neither a JSON object nor an array')
        return attributes_of(content, value, self._flattenings[name].attributes)

    def _flattening(self, name: str) -> Flattening:
        settings = self.settings
        prefix = settings.members_of(name) or ""
        nested = NestedSettings(
            prefix=prefix, separator=settings.separator, arrays=settings.arrays, max_levels=settings.max_levels
        )
        return Flattening(nested, self._write, settings.on_null)
