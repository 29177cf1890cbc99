"""The base of every component's options: strict models whose fields carry their own documentation."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, WithJsonSchema
from pydantic_core import PydanticCustomError

_DURATION_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE_BYTES = {"B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_TOO_LARGE = 2**63  # no length that a machine counts in 64 bits


def _with_unit(value: object, units: dict[str, float], what: str, example: str) -> float:
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)", value) if isinstance(value, str) else None
    factor = units.get(match[2]) if match else None
    if match is None or factor is None:
        raise PydanticCustomError(
            "bad_unit",
            '"{value}" is not a {what}; write a number and one of {units}, as in "{example}"',
            {"value": str(value), "what": what, "units": ", ".join(units), "example": example},
        )
    return float(match[1]) * factor


def _duration(value: object) -> float:
    return _with_unit(value, _DURATION_S, "duration", "5s")


def _byte_size(value: object) -> int:
    size = int(_with_unit(value, {unit: float(size) for unit, size in _SIZE_BYTES.items()}, "size", "2MiB"))
    if size >= _TOO_LARGE:
        raise PydanticCustomError(
            "out_of_range", '"{value}" is too large; a size must be less than 8589934592GiB', {"value": value}
        )
    return size


Duration = Annotated[
    float,
    BeforeValidator(_duration),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?(ms|s|m|h|d)$"}),
]
"""Seconds; written with a unit in YAML: `500ms`, `5s`, `2m`, `1h`, `7d`."""

ByteSize = Annotated[
    int, BeforeValidator(_byte_size), WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?([KMG]i?)?B$"})
]
"""Bytes, in 63 bits; written with a unit in YAML: `512B`, `64KiB`, `2MiB`, `1GB`."""

Secret = SecretStr
"""Text that is never printed; `get_secret_value()` gives it to the one place that needs it."""


class OnError(StrEnum):
    """What becomes of a failed event."""

    DEAD_LETTER = "dead_letter"
    DROP = "drop"
    STOP = "stop"


def option(doc: str, *, default: Any = ..., example: object = None, **constraints: Any) -> Any:
    """
    A documented option of a component; without a default it is required.

    Args:
        doc: one or two sentences for the reference page.
        default: value when the option is left out, as YAML would give it (`"5s"`, not `5.0`).
        example: value for the reference page when there is no telling default.
        constraints: pydantic's own (`ge`, `le`, `min_length`, …).
    """
    extra: Any = None if example is None else {"example": example}
    return Field(default, description=doc, json_schema_extra=extra, validate_default=True, **constraints)


class Model(BaseModel):
    """Base of everything read from YAML: unknown keys refused, no silent conversion, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class Settings(Model):
    """
    Options of a decorator or sink; every one has these three.

    `when` is text here; the chain compiles it with `ingest.expressions`.

    Attributes:
        without_source: core name of what the step reads where the option `source` is left out.
    """

    without_source: ClassVar[str] = "body"

    label: str | None = option(
        "Name of this step in errors, metrics and `explain`; unique in its pipeline.", default=None, example="split-ts"
    )
    when: str | None = option(
        "Condition; the step is passed over for events that do not meet it.",
        default=None,
        example="%{priority} == 'DEBUG'",
    )
    on_error: OnError | None = option(
        "What becomes of an event that fails here: dead_letter, drop or stop; the pipeline's `on_error` when left out.",
        default=None,
        strict=False,
    )

    def reads(self) -> frozenset[str]:
        """
        What the step reads besides what its templates name and `passes_on` and `members_of` say.

        As templates tell it: `attribute:NAME`, or a core name as `body`; `*` is all that an event has. Those that
        `source` and `sources` name where nothing else is said.
        """
        source = getattr(self, "source", "")
        names = [source, *(getattr(self, "sources", None) or ())]
        found = frozenset(f"attribute:{name}" for name in names if isinstance(name, str) and name)
        return found | {self.without_source} if source is None else found

    def sets(self) -> frozenset[str]:
        """Names of the attributes that the step sets, as far as the options tell."""
        attribute = getattr(self, "attribute", None)
        return frozenset([str(attribute)]) if attribute else frozenset()

    def sets_core(self) -> frozenset[str]:
        """What it sets besides attributes, by core names: `body`, `host`, `nanos`, `priority`, `timestamp`."""
        return frozenset()

    @property
    def other_names(self) -> str | None:
        """
        How all names begin that the step may set besides those of `sets`; None when there are none.

        Any name at all, "", where nothing else is said; a warning that nothing sets a row key relies on it.
        """
        return ""

    def set_references(self) -> frozenset[str]:
        """All that `sets` and `sets_core` say, as templates tell it; `surely_sets` is often that, or nothing."""
        return frozenset(f"attribute:{name}" for name in self.sets()) | self.sets_core()

    def surely_sets(self) -> frozenset[str]:
        """
        What of it the step sets anew in each event that comes out of it, as templates tell it.

        With the options it has, but for `when`, which is asked elsewhere. Events that fail or are dropped do not come
        out. A row key may be made of it, whatever was there before.
        """
        return frozenset()

    def time_may_be_coarse(self) -> bool:
        """Whether the event's time that the step sets may lack its milliseconds, as that of most texts."""
        return False

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """
        What it sets, as templates tell it -> the option, and the keys in it, of all templates that it is made of.

        What is not in here is taken to be made of all templates that the options have.
        """
        return {}

    def takes(self) -> frozenset[str]:
        """Attributes that it takes away, or apart, as far as the options name them."""
        return frozenset()

    def changes(self) -> frozenset[str]:
        """Attributes that it changes where an event has them, besides those of `sets`; `*` is all of them."""
        return frozenset()

    def passes_on(self) -> Mapping[str, str]:
        """Attribute that the step reads -> attribute that receives it, or what is made of it."""
        return {}

    def members_of(self, name: str) -> str | None:  # noqa: ARG002 - for steps that take attributes apart
        """How all names begin that the step makes of what is in this attribute; None when it makes none of it."""
        return None

    def doubts(self) -> Mapping[str, str]:
        """Option -> what is right in it and can hardly be meant; told as a warning at its place."""
        return {}

    def new_name(self, name: str) -> str:
        """The name that an attribute has after the step; another one where the step renames it."""
        return name


class StoreSettings(Model):
    """Options of a store; what others have to know of them they ask here, and never by the name of an option."""

    @property
    def worker_connections(self) -> int:
        """How many connections a worker process opens to write for one pipeline."""
        return 1

    @property
    def max_put_bytes(self) -> int | None:
        """How large a put may be that several events of one row are taken together in; None where any size is taken."""
        return None

    @property
    def why_no_families(self) -> tuple[str, str] | None:
        """Why families of events can not be made with these options, and the way out; None when they can."""
        return None

    def impatient(self, timeout_s: float) -> Self:  # noqa: ARG002 - for stores that wait
        """The same, but no call waits for longer."""
        return self
