"""Code of the decorators that compute a new value from an old one: which values they read, where they write results."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ingest.api.event import Event
from ingest.api.event_errors import NoAttributeError
from ingest.api.settings import Settings, attribute_references, option
from ingest.decorating.choices import OnMissing
from ingest.decorating.names import names_found

Change = Callable[[bytes], bytes | None]
"""A function from a value to a new value, or None for none; raises EventError for an invalid value."""

Targets = Mapping[str, str]
"""Name of an attribute that is read -> name of the attribute that receives the result, which may be the same."""

_Names = Annotated[list[str], Field(min_length=1)]
_Pairs = Annotated[dict[str, str], Field(min_length=1)]


def each_once(names: Iterable[str], option: str) -> None:
    """
    Check that an option lists no attribute twice: one of the two values would be lost.

    Raises:
        PydanticCustomError: an attribute is listed twice; for validators of options.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PydanticCustomError("conflict", '"{name}" is listed twice', {"name": name, "option": option})
        seen.add(name)


class EditSettings(Settings):
    """Options of a decorator that computes values from values."""

    other_names: ClassVar[None] = None

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="user")
    attribute: str | None = option(
        "Attribute that receives the result; when left out, the value that was read is replaced.",
        default=None,
        example="2hb_app:user",
    )
    attributes: _Names | _Pairs | None = option(
        "Several attributes, instead of `source` and `attribute`: a list of attributes whose values are replaced, or a "
        "mapping from attributes that are read to attributes that receive the results.",
        default=None,
        example={"user": "2hb_app:user"},
    )
    on_missing: OnMissing = option(
        "If the event does not have the attribute: set no result (`unset`), set an `empty` value, or fail the event "
        "(`error`). Needs `source` or `attributes`.",
        default="unset",
        strict=False,
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.attributes is not None and (self.source is not None or self.attribute is not None):
            raise PydanticCustomError("conflict", "`attributes` cannot be combined with `source` or `attribute`")
        if "on_missing" in self.model_fields_set and self.targets() is None:
            raise PydanticCustomError(
                "conflict",
                "`on_missing` needs `source` or `attributes`: without them no attribute is read",
                {"option": "on_missing"},
            )
        each_once(
            self.attributes.values() if isinstance(self.attributes, dict) else self.attributes or (), "attributes"
        )
        return self

    def reads(self) -> frozenset[str]:
        """The attributes that are read; without any, what `without_source` names."""
        targets = self.targets()
        return super().reads() if targets is None else attribute_references(targets)

    def sets(self) -> frozenset[str]:
        """The attributes that receive results."""
        return frozenset((self.targets() or {}).values()) | super().sets()

    def sets_core(self) -> frozenset[str]:
        """The core name whose value is replaced, if no attribute is named."""
        is_changed = self.targets() is None and self.attribute is None
        return frozenset([self.without_source]) if is_changed else frozenset()

    def targets(self) -> Targets | None:
        """The attributes that are read, and those that receive the results; None if no attribute is read."""
        if isinstance(self.attributes, dict):
            return self.attributes
        if self.attributes is not None:
            return {name: name for name in self.attributes}
        if self.source is not None:
            return {self.source: self.source if self.attribute is None else self.attribute}
        return None


def edit(settings: EditSettings, change: Change) -> Callable[[Event], None]:
    """
    A function that changes the body or attributes of an event as the options say: all of them, or none on an error.

    It may replace the value of an attribute even if attributes are written once.
    """
    targets = settings.targets()
    if targets is not None:
        return edit_attributes(targets, change, settings.on_missing)
    attribute = settings.attribute

    def edit_body(event: Event) -> None:
        event.body = change(event.body) or b""

    def read_body(event: Event) -> None:
        value = change(event.body)
        if value is not None and attribute is not None:
            event.set(attribute, value)

    return edit_body if attribute is None else read_body


def edit_attributes(targets: Targets, change: Change, on_missing: OnMissing) -> Callable[[Event], None]:
    """The same for attributes only."""
    pairs = tuple(targets.items())
    absent = b"" if on_missing is OnMissing.EMPTY else None
    is_error = on_missing is OnMissing.ERROR

    def edit(event: Event) -> None:
        attributes = event.attributes
        changed: dict[str, bytes] = {}
        created: dict[str, bytes] = {}
        removed: list[str] = []
        for name, target in pairs:
            value = attributes.get(name)
            if value is not None:
                value = change(value)
                if value is None and name == target:
                    removed.append(name)
            elif is_error:
                raise NoAttributeError(f'no attribute "{name}" to read')
            else:
                value = absent
            if value is not None:
                (changed if name == target else created)[target] = value
        if created:
            event.update(created)
        attributes.update(changed)
        for name in removed:
            del attributes[name]

    return edit


def edit_found(search: Callable[[bytes], object], change: Change) -> Callable[[Event], None]:
    """
    A function that replaces the values of all attributes in whose names a pattern is found: all, or none on an error.

    Args:
        search: returns None if the pattern is not found in the bytes of a name; called once for each name.
        change: from a value to a new value.
    """
    names = names_found(search)
    known = names.known

    def edit(event: Event) -> None:
        attributes = event.attributes
        changed: dict[str, bytes] = {}
        removed: list[str] = []
        for name, value in attributes.items():
            try:
                is_found = known[name]
            except KeyError:
                is_found = names[name]
            if is_found:
                new = change(value)
                if new is None:
                    removed.append(name)
                else:
                    changed[name] = new
        attributes.update(changed)
        for name in removed:
            del attributes[name]

    return edit
