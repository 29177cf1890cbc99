"""Copy the event's host to an attribute, or set it from one, in a short or full form."""

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.notation import name_from_bytes, name_to_bytes
from ingest.decorating.choices import OnInvalid


class NoHostError(DecorateError):
    """The event has no host, with on_missing: error."""

    code = "no_host"
    remedy = "Set the host with the decorator `host`, or choose another `on_missing`."


class Form(StrEnum):
    """The form of a host name."""

    AS_IS = "as_is"
    SHORT = "short"
    FULL = "full"


class HostSettings(Settings):
    """Options of the host decorator."""

    other_names: ClassVar[None] = None
    without_source: ClassVar[str] = "host"

    source: str | None = option(
        "Attribute that contains the name; the event's host when left out.", default=None, example="hostname"
    )
    attribute: str | None = option(
        "Attribute that receives the name; the event's host when left out.", default=None, example="2hb_sys:host"
    )
    form: Form = option(
        "The name `as_is`, its `short` form up to the first dot, or its `full` form, which adds `domain` to a name "
        "without a dot. Addresses stay unchanged; a number without a dot is a name.",
        default="as_is",
        strict=False,
    )
    domain: str | None = option(
        "Domain that is added to names without one; required with `form: full`.",
        default=None,
        example="example.com",
        pattern=r"^[^.\s]([^\s]*[^.\s])?$",
    )
    on_missing: OnInvalid = option(
        "If the attribute is absent, or the event has no host: nothing changes (`keep`), or the event fails (`error`).",
        default="error",
        strict=False,
    )

    def sets_core(self) -> frozenset[str]:
        """The event's host, if `attribute` is not set."""
        return frozenset(["host"]) if self.attribute is None else frozenset()

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if self.source is None and self.attribute is None and self.form is Form.AS_IS:
            raise PydanticCustomError("missing", "host needs `source`, `attribute` or another `form`")
        if (self.form is Form.FULL) is (self.domain is None):
            raise PydanticCustomError("conflict", "`form: full` and `domain` go together")
        return self


class Host(Decorator[HostSettings]):
    """
    Copy the event's host to an attribute, or set the host from an attribute.

    `source` and `attribute` default to the event's host, as `%{host}` shows it. There is no name resolution: names are
    shortened or completed as text. A dot at the end of a full name is removed. For lines such as `Host: web-1`, use
    `headers`.

    Source: own design.
    """

    kind = "host"
    examples = (
        Example(
            "the host as a column, without the domain",
            settings="{attribute: '2hb_sys:host', form: short}",
            host="web-1.example.com",
            after={"2hb_sys:host": "web-1"},
        ),
        Example(
            "an address is not shortened",
            settings="{attribute: host, form: short}",
            host="10.0.0.1",
            after={"host": "10.0.0.1"},
        ),
        Example(
            "a full name",
            settings="{source: node, attribute: host, form: full, domain: example.com}",
            attributes={"node": "web-1"},
            after={"host": "web-1.example.com"},
        ),
        Example("no host", settings="{attribute: host}", error="no_host"),
        Example("no host, with `on_missing: keep`", settings="{attribute: host, on_missing: keep}", after={}),
        Example("an absent attribute", settings="{source: node}", error="no_attribute"),
    )

    def __init__(self, settings: HostSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._attribute = settings.attribute
        self._keeps = settings.on_missing is OnInvalid.KEEP
        self._convert = _converter(settings)

    def decorate(self, event: Event) -> bool:
        """Set the attribute, or the host."""
        if self._source is None:
            name: bytes | None = name_to_bytes(event.host)
        else:
            name = event.attributes.get(self._source)
        if not name:
            if self._keeps:
                return True
            event.text_of(self._source, "to name the host")
            raise NoHostError("the event has no host")
        name = self._convert(name)
        if self._attribute is None:
            event.host = name_from_bytes(name)
        else:
            event.set(self._attribute, name)
        return True


def _converter(settings: HostSettings) -> Callable[[bytes], bytes]:
    match settings.form:
        case Form.SHORT:
            return lambda name: name.removesuffix(b".") if _is_address(name) else name.partition(b".")[0] or name
        case Form.FULL:
            domain = b"." + name_to_bytes(settings.domain or "")

            def full(name: bytes) -> bytes:
                if b"." in name:
                    return name.removesuffix(b".") or name
                return name if b":" in name else name + domain

            return full
        case Form.AS_IS:
            return bytes


def _is_address(name: bytes) -> bool:
    """Whether a name is an address: a top-level domain is never a number (RFC 3696, 2)."""
    return b":" in name or name.removesuffix(b".").rpartition(b".")[2].isdigit()
