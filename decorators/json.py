"""Parse a JSON object into attributes."""

from collections.abc import Mapping
from enum import StrEnum

from ingest.api import DecorateError, Decorator, Event, Example, OptionPath, option
from ingest.api.event_errors import BadJsonError
from ingest.decorating.choices import FailureAction
from ingest.formats.confluent import HEADER_BYTES, schema_id_of
from ingest.formats.json_text import attributes_of, read_json, write_json
from ingest.formats.nested import ElementsAsNames, Flattening, NestedSettings, OnNull
from ingest.formats.number_types import json_writer


class Header(StrEnum):
    """What precedes the text."""

    NONE = "none"
    CONFLUENT = "confluent"


class JsonSettings(NestedSettings):
    """Options of the json decorator."""

    header: Header = option(
        "What precedes the text: nothing (`none`), or the zero byte and the schema ID of a `confluent` registry's "
        "serializer, which are taken off; the schema is not looked up.",
        default="none",
        strict=False,
    )
    elements: dict[str, str] = option(
        "Arrays whose elements become names of attributes: the member, named as in `only`, and the prefix of the "
        "names. Each of them has the value 1, written as `numbers` says.",
        default={},
        example={"tags": "2hb_tag:"},
    )
    on_null: OnNull = option(
        "A null sets nothing (`unset`), an `empty` value, or fails the event (`error`). In an array of `elements`, "
        "`empty` is the empty name.",
        default="unset",
        strict=False,
    )
    on_invalid: FailureAction = option(
        "Text that is not a JSON object or is nested too deep, an absent attribute, or a member of `elements` that is "
        "not an array of texts, numbers and booleans: the event fails (`error`), passes unchanged (`keep`), or is "
        "dropped (`drop`).",
        default="error",
        strict=False,
    )

    def lint_warnings(self) -> Mapping[str, str]:
        """Members of `elements` below `max_levels`, which stay text."""
        levels = self.max_levels
        below = [] if levels is None else [member for member in self.elements if member.count(self.separator) >= levels]
        if not below:
            return {}
        return {
            "elements": f"`{below[0]}` is below `max_levels: {levels}`, so its elements set no attributes; raise "
            "`max_levels`, or leave the member out"
        }

    @property
    def further_prefixes(self) -> Mapping[str, OptionPath]:
        """The prefixes of `elements`."""
        return {prefix: ("elements", member) for member, prefix in self.elements.items()}


class Json(Decorator[JsonSettings]):
    """
    Set an attribute for each member of a JSON object; nested objects get dotted names.

    Text is UTF-8, and a byte order mark before it is ignored; booleans are `true` and `false`, numbers keep their
    digits as written, even -0 and 1e400. If a member repeats in an object, its last value wins. Two members with
    different values that get one name, as in `{"a.b": 1, "a": {"b": 2}}`, fail the event: set another `separator`, or
    another prefix in `elements`. Empty objects set nothing.

    With `numbers: auto` a number without fraction and exponent is an int64, so a member that is 1 in one event and 1.5
    in another gets two types, and no reader can tell them apart. Use `numbers: float64` for such members.

    `elements: {tags: '2hb_tag:'}` sets `2hb_tag:a` and `2hb_tag:b` for `{"tags": ["a", "b"]}`, so that each tag is a
    column, which can be read alone and counted. Equal elements set one attribute; numbers and booleans are named by
    their text. An empty element gives the prefix alone: the empty qualifier, or with `sys_family` a cell of that
    family. An empty or absent array, and with `on_null: unset` or `empty` a null in its place, sets nothing. Nor does a
    member of an array or object that becomes text, by `arrays` or `max_levels`.

    Without `prefix`, whoever writes the object chooses the names of the attributes: a member `2hb_web:x` becomes a cell
    of a sink `attr2hbase`, and `2hb_` its row key. Set a `prefix`, or name the members in `only`.

    Source: own design.
    """

    kind = "json"
    examples = (
        Example(
            "a column for each member",
            settings="{prefix: '2hb_app:'}",
            body='{"level": "warn", "took": 1.50, "user": {"id": 7, "admin": false}}',
            after={
                "2hb_app:level": "warn",
                "2hb_app:took": "1.50",
                "2hb_app:user.id": "7",
                "2hb_app:user.admin": "false",
            },
        ),
        Example(
            "inner objects are JSON text, with `max_levels`",
            settings="{max_levels: 1}",
            body='{"level": "warn", "user": {"id": 7, "tags": ["x"]}}',
            after={"level": "warn", "user": '{"id":7,"tags":["x"]}'},
        ),
        Example(
            "with the header of a registry's serializer",
            settings="{header: confluent}",
            body=b'\0\0\0\0\x07{"level": "warn"}',
            after={"level": "warn"},
        ),
        Example("a header is missing", settings="{header: confluent}", body='{"level": "warn"}', error="bad_json"),
        Example("nulls set nothing", body='{"a": null, "b": ""}', after={"b": ""}),
        Example(
            "an attribute for each element",
            settings="{arrays: index}",
            body='{"tags": ["x", "y"]}',
            after={"tags.0": "x", "tags.1": "y"},
        ),
        Example(
            "some members, and all members of an object",
            settings="{only: [level, user]}",
            body='{"level": "warn", "took": 2, "user": {"id": 7, "mail": {"home": "a@b.c"}}}',
            after={"level": "warn", "user.id": "7", "user.mail.home": "a@b.c"},
        ),
        Example(
            "numbers as HBase's tools write them",
            settings="{prefix: '2hb_m:', numbers: auto}",
            body='{"rx": 100, "load": 2.5, "unit": "bytes", "up": true}',
            after={
                "2hb_m:rx": "\0\0\0\0\0\0\0d",
                "2hb_m:load": "@\4\0\0\0\0\0\0",
                "2hb_m:unit": "bytes",
                "2hb_m:up": "true",
            },
        ),
        Example(
            "one type for all numbers",
            settings="{prefix: '2hb_m:', numbers: float64}",
            body='{"load": 2}',
            after={"2hb_m:load": "@\0\0\0\0\0\0\0"},
        ),
        Example(
            "an integer beyond 64 bits",
            settings="{numbers: auto}",
            body='{"id": 9223372036854775808}',
            error="number_too_large",
        ),
        Example(
            "a column for each element",
            settings="{prefix: '2hb_app:', elements: {tags: '2hb_tag:'}}",
            body='{"level": "warn", "tags": ["vip", "new", "", "vip", 7]}',
            after={"2hb_app:level": "warn", "2hb_tag:vip": "1", "2hb_tag:new": "1", "2hb_tag:": "1", "2hb_tag:7": "1"},
        ),
        Example(
            "a column for each element, counted by a table with `updates: {processor: {sum: {type: int64}}}`",
            settings="{only: [level], numbers: auto, elements: {user.tags: '2hb_tag:'}}",
            body='{"level": "warn", "user": {"tags": ["vip"]}}',
            after={"level": "warn", "2hb_tag:vip": "\0\0\0\0\0\0\0\1"},
        ),
        Example(
            "an array in an array of `elements`",
            settings="{elements: {tags: '2hb_tag:'}}",
            body='{"tags": ["vip", ["new"]]}',
            error="bad_elements",
        ),
        Example(
            "a member with the name of an element",
            settings="{prefix: '2hb_tag:', elements: {user.tags: '2hb_tag:'}}",
            body='{"vip": "no", "user": {"tags": ["vip"]}}',
            error="repeated_name",
        ),
        Example("arrays are JSON text", body='{"tags": ["x", {"y": 1.0}]}', after={"tags": '["x",{"y":1.0}]'}),
        Example("one name for two members", body='{"a.b": 1, "a": {"b": 2}}', error="repeated_name"),
        Example("not an object", body="[1]", error="bad_json"),
        Example("not an object, with `on_invalid: keep`", settings="{on_invalid: keep}", body="started"),
        Example("an absent attribute", settings="{source: payload}", error="no_attribute"),
    )

    def __init__(self, settings: JsonSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._has_header = settings.header is Header.CONFLUENT
        write = json_writer(settings.numbers)
        if settings.elements:
            self._flattening: Flattening = ElementsAsNames(
                settings, write, settings.on_null, settings.elements, write_json
            )
        else:
            self._flattening = Flattening(settings, write, settings.on_null)
        codes = ("bad_json", "bad_elements", "too_deep", "no_attribute")
        self._actions = dict.fromkeys(codes, settings.on_invalid)

    @property
    def drop_reason(self) -> str:
        """The reason for events whose text is not a JSON object."""
        return BadJsonError.code

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        try:
            found = self._read(event.text_of(self._source, "to read"))
        except DecorateError as error:
            return self._actions.get(error.code, FailureAction.ERROR).keeps_or_raises(error)
        event.update(found)
        return True

    def _read(self, text: bytes) -> dict[str, bytes]:
        if self._has_header:
            text = _without_header(text)
        content = read_json(text)
        if type(content) is not dict:
            is_array = type(content) is list
            raise BadJsonError("not a JSON object", hint="`explode` makes events of an array" if is_array else None)
        return attributes_of(content, text, self._flattening.attributes)


def _without_header(text: bytes) -> bytes:
    try:
        schema_id_of(text)
    except ValueError as error:
        raise BadJsonError(str(error)) from error
    return text[HEADER_BYTES:]
