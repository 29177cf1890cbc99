"""Parse a JSON object into attributes."""

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.decorating.choices import FailureAction
from ingest.formats.json_text import attributes_of, read_json
from ingest.formats.nested import Flattening, NestedSettings, OnNull
from ingest.formats.number_types import json_writer


class JsonSettings(NestedSettings):
    """Options of the json decorator."""

    on_null: OnNull = option(
        "A null sets nothing (`unset`), an `empty` value, or fails the event (`error`).", default="unset", strict=False
    )
    on_invalid: FailureAction = option(
        "Text that is not a JSON object or is nested too deep, or an absent attribute: the event fails (`error`), "
        "passes unchanged (`keep`), or is dropped (`drop`).",
        default="error",
        strict=False,
    )


class Json(Decorator[JsonSettings]):
    """
    Set an attribute for each member of a JSON object; nested objects get dotted names.

    Text is UTF-8, booleans are `true` and `false`, numbers keep their digits as written, even -0 and 1e400. If a name
    repeats, the last value wins. Empty objects set nothing.

    With `numbers: auto` a number without fraction and exponent is an int64, so a member that is 1 in one event and 1.5
    in another gets two types, and no reader can tell them apart. Use `numbers: float64` for such members.

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
        Example("arrays are JSON text", body='{"tags": ["x", {"y": 1.0}]}', after={"tags": '["x",{"y":1.0}]'}),
        Example("not an object", body="[1]", error="bad_json"),
        Example("not an object, with `on_invalid: keep`", settings="{on_invalid: keep}", body="started"),
        Example("an absent attribute", settings="{source: payload}", error="no_attribute"),
    )

    def __init__(self, settings: JsonSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._flattening = Flattening(settings, json_writer(settings.numbers), settings.on_null)
        self._actions = dict.fromkeys(("bad_json", "too_deep", "no_attribute"), settings.on_invalid)

    @property
    def drop_reason(self) -> str:
        """The reason for events whose text is not a JSON object."""
        return "bad_json"

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        try:
            found = self._read(event.text_of(self._source, "to read"))
        except DecorateError as error:
            return self._actions.get(error.code, FailureAction.ERROR).keeps_or_raises(error)
        event.update(found)
        return True

    def _read(self, text: bytes) -> dict[str, bytes]:
        content = read_json(text)
        if type(content) is not dict:
            raise DecorateError("not a JSON object", code="bad_json")
        return attributes_of(content, text, self._flattening.attributes)
