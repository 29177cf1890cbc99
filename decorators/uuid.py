"""Give an event an id that is the same on every replay."""

import uuid
from typing import Annotated, ClassVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.choices import OnMissing
from ingest.expressions import Template
from ingest.expressions.functions.event import EVENTS, identity, uuid5

_NAMESPACES = {
    "dns": uuid.NAMESPACE_DNS,
    "url": uuid.NAMESPACE_URL,
    "oid": uuid.NAMESPACE_OID,
    "x500": uuid.NAMESPACE_X500,
}
_VALUES = uuid.uuid5(uuid.NAMESPACE_URL, "urn:attr2hbase:value")  # so that no value gives the id of an origin


def _is_namespace(text: str) -> str:
    try:
        _namespace(text)
    except ValueError as error:
        raise PydanticCustomError(
            "wrong_type", '"{text}" is neither a UUID nor one of dns, url, oid, x500', {"text": text}
        ) from error
    return text


class UuidSettings(Settings):
    """Options of the uuid decorator."""

    other_names: ClassVar[None] = None

    attribute: str = option("Attribute that receives the id.", example="2hb_meta:id")
    value: Template | None = option(
        "Template of what the id is made of; the origin of the event when left out.",
        default=None,
        example="%{tenant}/%{order}",
    )
    namespace: Annotated[str, AfterValidator(_is_namespace)] | None = option(
        "Namespace the id is made in: a UUID, or `dns`, `url`, `oid` or `x500`; one of our own when left out.",
        default=None,
        example="url",
    )
    on_missing: OnMissing = option(
        "When the template names an attribute the event does not have: the event fails (`error`), nothing is set "
        "(`unset`), or it is `empty` text.",
        default="error",
        strict=False,
    )


class Uuid(Decorator[UuidSettings]):
    """
    Set an attribute to a UUID of version 5, in small letters.

    Made of the event's origin (topic, partition, offset, and the number of a fan-out) it is another one for each event,
    and the same one when the event is read again; it is what `%{uuid()}` gives. Made of a value it is the same one for
    the same value, in any program that makes UUIDs of version 5 in that namespace.

    Source: ours; RFC 9562, 5.5.
    """

    kind = "uuid"
    examples = (
        Example(
            "of where the event comes from",
            settings="{attribute: '2hb_meta:id'}",
            offset=7,
            after={"2hb_meta:id": "de681140-e4fb-5246-b1da-570d868c719b"},
        ),
        Example(
            "of a name, as other programs make it",
            settings="{attribute: id, value: '%{site}', namespace: dns}",
            attributes={"site": "python.org"},
            after={"id": "886313e1-3b8a-5372-9b90-0c9aee199e5d"},
        ),
        Example(
            "of two attributes",
            settings="{attribute: id, value: '%{tenant}/%{order}'}",
            attributes={"tenant": "acme", "order": "17"},
            after={"id": "22b1a481-b419-5d74-9fd9-90196447221a"},
        ),
        Example(
            "an absent attribute would give one id to many",
            settings="{attribute: id, value: '%{order}'}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: UuidSettings) -> None:
        super().__init__(settings)
        self._attribute = settings.attribute
        self._name = identity if settings.value is None else settings.value.renderer(settings.on_missing)
        own = EVENTS if settings.value is None else _VALUES
        self._namespace = (own if settings.namespace is None else _namespace(settings.namespace)).bytes

    def decorate(self, event: Event) -> bool:
        """Set the attribute."""
        name = self._name(event)
        if name is not None:
            event.set(self._attribute, uuid5(self._namespace, name))
        return True


def _namespace(text: str) -> uuid.UUID:
    return _NAMESPACES.get(text) or uuid.UUID(text)
