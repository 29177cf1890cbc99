"""Set an attribute to an ID that is the same on every replay."""

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
_VALUES = uuid.uuid5(uuid.NAMESPACE_URL, "urn:attr2hbase:value")  # so that no value has the ID of an origin


def _valid_namespace(text: str) -> str:
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

    attribute: str = option("Attribute that receives the ID.", example="2hb_meta:id")
    value: Template | None = option(
        "Template of the value from which the ID is computed; the event's origin when left out.",
        default=None,
        example="%{tenant}/%{order}",
    )
    namespace: Annotated[str, AfterValidator(_valid_namespace)] | None = option(
        "Namespace of the ID: a UUID, or `dns`, `url`, `oid` or `x500`; attr2hbase's own namespace when left out.",
        default=None,
        example="url",
    )
    on_missing: OnMissing = option(
        "If the template names an attribute that the event does not have, the event fails (`error`), nothing is set "
        "(`unset`), or the name expands to `empty` text.",
        default="error",
        strict=False,
    )


class Uuid(Decorator[UuidSettings]):
    """
    Set an attribute to a version 5 UUID, in lower case.

    Without `value`, the ID is computed from the event's origin (topic, partition, offset, and the number within a
    fan-out): it is unique per event, and the same when the event is read again, as is `%{uuid()}`. With `value`, equal
    values have equal IDs, also in other programs that compute version 5 UUIDs in that namespace.

    Source: own design; RFC 9562, 5.5.
    """

    kind = "uuid"
    examples = (
        Example(
            "from the event's origin",
            settings="{attribute: '2hb_meta:id'}",
            offset=7,
            after={"2hb_meta:id": "de681140-e4fb-5246-b1da-570d868c719b"},
        ),
        Example(
            "from a name, as in other programs",
            settings="{attribute: id, value: '%{site}', namespace: dns}",
            attributes={"site": "python.org"},
            after={"id": "886313e1-3b8a-5372-9b90-0c9aee199e5d"},
        ),
        Example(
            "from two attributes",
            settings="{attribute: id, value: '%{tenant}/%{order}'}",
            attributes={"tenant": "acme", "order": "17"},
            after={"id": "22b1a481-b419-5d74-9fd9-90196447221a"},
        ),
        Example(
            "an absent attribute",
            settings="{attribute: id, value: '%{order}'}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: UuidSettings) -> None:
        super().__init__(settings)
        self._attribute = settings.attribute
        self._name = identity if settings.value is None else settings.value.renderer(settings.on_missing)
        default = EVENTS if settings.value is None else _VALUES
        self._namespace = (default if settings.namespace is None else _namespace(settings.namespace)).bytes

    def decorate(self, event: Event) -> bool:
        """Set the attribute."""
        name = self._name(event)
        if name is not None:
            event.set(self._attribute, uuid5(self._namespace, name))
        return True


def _namespace(text: str) -> uuid.UUID:
    return _NAMESPACES.get(text) or uuid.UUID(text)
