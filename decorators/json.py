"""Turn the members of a JSON object into attributes."""

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.decorating.choices import FailureAction
from ingest.formats.json_text import attributes_of, read_json, write_json
from ingest.formats.nested import Flattening, NestedSettings, OnNull


class JsonSettings(NestedSettings):
    """Options of the json decorator."""

    on_null: OnNull = option(
        "A null sets nothing (`unset`), an `empty` value, or fails the event (`error`).", default="unset", strict=False
    )
    on_invalid: FailureAction = option(
        "A text that is not a JSON object or nested too deep, or an absent attribute: the event fails (`error`), "
        "passes as it is (`keep`), or is dropped (`drop`).",
        default="error",
        strict=False,
    )


class Json(Decorator[JsonSettings]):
    """
    Set an attribute for each member of a JSON object; nested objects give dotted names.

    Text is UTF-8, true and false are written so, numbers keep the digits they were written with, also -0 and 1e400. Of
    a name that repeats the last one counts. Objects without members set nothing.

    Source: ours.
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
            "some members, and all of an object",
            settings="{only: [level, user]}",
            body='{"level": "warn", "took": 2, "user": {"id": 7, "mail": {"home": "a@b.c"}}}',
            after={"level": "warn", "user.id": "7", "user.mail.home": "a@b.c"},
        ),
        Example("arrays are JSON text", body='{"tags": ["x", {"y": 1.0}]}', after={"tags": '["x",{"y":1.0}]'}),
        Example("no object", body="[1]", error="bad_json"),
        Example("no object, and it may pass", settings="{on_invalid: keep}", body="started"),
        Example("an absent attribute", settings="{source: payload}", error="no_attribute"),
    )

    def __init__(self, settings: JsonSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._flattening = Flattening(settings, write_json, settings.on_null)
        self._fates = dict.fromkeys(("bad_json", "too_deep", "no_attribute"), settings.on_invalid)

    @property
    def drop_reason(self) -> str:
        """Only events that are not a JSON object are dropped."""
        return "bad_json"

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        try:
            found = self._read(event.text_of(self._source, "to read"))
        except DecorateError as error:
            return self._fates.get(error.code, FailureAction.ERROR).keeps_or_raises(error)
        event.update(found)
        return True

    def _read(self, text: bytes) -> dict[str, bytes]:
        content = read_json(text)
        if type(content) is not dict:
            raise DecorateError("not a JSON object", code="bad_json")
        return attributes_of(content, text, self._flattening.attributes)
