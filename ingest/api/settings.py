"""The base classes of every component's options: strict models whose fields have their own documentation."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from ingest.api.cells import Durability

_DURATION_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE_BYTES = {"B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_TOO_LARGE = 2**63  # the length of no file or buffer


def seconds_of(text: str) -> float | None:
    """The seconds of a duration as options have it, such as `5s`; None if the text is none."""
    return _amount(text, _DURATION_S)


def _amount(text: str, units: dict[str, float]) -> float | None:
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)", text)
    factor = units.get(match[2]) if match else None
    return None if match is None or factor is None else float(match[1]) * factor


def _with_unit(value: object, units: dict[str, float], what: str, example: str) -> float:
    amount = _amount(value, units) if isinstance(value, str) else None
    if amount is None:
        raise PydanticCustomError(
            "bad_unit",
            '"{value}" is not a {what}; write a number and one of {units}, as in "{example}"',
            {"value": str(value), "what": what, "units": ", ".join(units), "example": example},
        )
    return amount


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
"""Text that is never printed; `get_secret_value()` returns it where it is used."""


class OnError(StrEnum):
    """The failure action for an event."""

    DEAD_LETTER = "dead_letter"
    DROP = "drop"
    STOP = "stop"


def option(
    doc: str, *, default: Any = ..., example: object = None, deprecated: str | None = None, **constraints: Any
) -> Any:
    """
    A documented option of a component; without a default it is required.

    Args:
        doc: one or two sentences for the reference page.
        default: value if the option is left out, as in YAML (`"5s"`, not `5.0`).
        example: value for the reference page if the default shows little.
        deprecated: what to write instead, as in "`separator`", for an option that a later version removes; a file that
            sets it gets a warning, and the reference page says so. Give it a default.
        constraints: pydantic's own (`ge`, `le`, `min_length`, …).
    """
    extra: dict[str, Any] = {} if example is None else {"example": example}
    if deprecated is not None:
        doc = f"{doc} Deprecated: use {deprecated}."
        extra |= {"deprecated": True, "replacement": deprecated}  # the first is JSON Schema's, which editors show
    return Field(default, description=doc, json_schema_extra=extra or None, validate_default=True, **constraints)


def attribute_references(names: Iterable[str]) -> frozenset[str]:
    """Names of attributes -> references in the form that templates return: `attribute:NAME`."""
    return frozenset(f"attribute:{name}" for name in names)


class Model(BaseModel):
    """Base of everything read from YAML: refuses unknown keys, converts nothing silently, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, defer_build=True)


class Settings(Model):
    """
    Options of a decorator or sink; every one has these three.

    `when` is text here; the chain compiles it with `ingest.expressions`.

    Attributes:
        without_source: core name of what the decorator reads if the option `source` is left out.
    """

    without_source: ClassVar[str] = "body"

    label: str | None = option(
        "Name of this decorator or sink in errors, metrics and `explain`; unique in its pipeline.",
        default=None,
        example="split-ts",
    )
    when: str | None = option(
        "Condition; events that do not meet it bypass this decorator or sink.",
        default=None,
        example="%{priority} == 'DEBUG'",
    )
    on_error: OnError | None = option(
        "Failure action for an event that fails here: dead_letter, drop or stop; default: the pipeline's `on_error`.",
        default=None,
        strict=False,
    )

    def reads(self) -> frozenset[str]:
        """
        References to what the decorator reads, besides those in its templates.

        A reference is `attribute:NAME`, or a core name such as `body`. By default those of `source` and `sources`.
        """
        source = getattr(self, "source", "")
        names = [source, *(getattr(self, "sources", None) or ())]
        found = attribute_references(name for name in names if isinstance(name, str) and name)
        return found | {self.without_source} if source is None else found

    def sets(self) -> frozenset[str]:
        """Names of the attributes that the decorator sets, if the options name them."""
        attribute = getattr(self, "attribute", None)
        return frozenset([str(attribute)]) if attribute else frozenset()

    def may_remove(self, name: str) -> bool:  # noqa: ARG002 - for decorators that remove attributes
        """Whether the decorator may remove an attribute of this name, or whose name begins with it."""
        return False

    def sets_core(self) -> frozenset[str]:
        """Core names of what it sets besides attributes: `body`, `host`, `nanos`, `priority`, `timestamp`."""
        return frozenset()

    @property
    def other_names(self) -> str | None:
        """
        Prefix of all names that the decorator may set besides those of `sets`; None if there are none.

        By default "": it may set any name. The warning that no decorator sets a row key depends on it.
        """
        return ""

    @property
    def further_prefixes(self) -> Mapping[str, "OptionPath"]:
        """Prefix of names that it may set besides those of `sets` and `other_names` -> the path of its option."""
        return {}

    @property
    def name_separator(self) -> str:
        """Text between the parts of a name in `other_names`; "" if such names are not joined from parts."""
        return ""

    def time_may_be_coarse(self) -> bool:
        """Whether the event time that the decorator sets may lack milliseconds, as in most text formats."""
        return False

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """
        Reference to what it sets -> the paths of the options whose templates it is made of.

        What is not listed here may be made of anything that the decorator reads.
        """
        return {}

    @property
    def always_sets_made(self) -> bool:
        """Whether each event that meets `when` gets all that `made_of` lists, even if a template has no value."""
        return True

    @property
    def writes_binary(self) -> bool:
        """Whether attributes that it sets contain numbers in binary form, which are not text."""
        return False

    def replaces_text(self, name: str) -> bool:  # noqa: ARG002 - for decorators with a pattern of names
        """Whether it reads an attribute of this name as text and replaces it, because a pattern matches the name."""
        return False

    def writes_binary_to(self, name: str) -> bool:  # noqa: ARG002 - for decorators with a pattern of names
        """Whether it replaces an attribute of this name by binary form, because a pattern matches the name."""
        return False

    @property
    def pattern_literals(self) -> tuple[str, ...]:
        """Literal parts of a pattern of names: checks build names from them that two patterns may both match."""
        return ()

    @property
    def uses_registry(self) -> bool:
        """Whether the decorator reads values with schemas of a registry; it then gets them by `use_schemas`."""
        return False

    def lint_warnings(self) -> Mapping[str, str]:
        """Option -> a warning about a valid value that is probably a mistake; reported at its place."""
        return {}

    @property
    def makes_row_keys(self) -> bool:
        """Whether its purpose is to make row keys, so that an attribute it sets is probably meant as one."""
        return False

    def passes_no_event(self) -> bool:
        """Whether it drops or fails every event that meets `when`."""
        return False


OptionPath = tuple[str | int, ...]
"""Keys and indexes from a component's options to one of them."""


class Finding(NamedTuple):
    """
    A problem between the options of one component.

    Attributes:
        path: of the option.
        hint: what to do about it; by default, the line of `see`.
        see: another option that the message names.
        kind: one of `attr2hbase describe error`: conflict, missing_field, unreachable, replaced_cell.
        is_error: the pipeline cannot run with it; else it is a warning.
    """

    path: OptionPath
    message: str
    hint: str = ""
    kind: str = "conflict"
    is_error: bool = True
    see: OptionPath | None = None


class SinkSettings(Settings):
    """Options of a sink. Callers use the properties and methods below, never an option by its name."""

    @property
    def store_name(self) -> str | None:
        """The name of its store, "" where the options leave it out; None for a sink that writes to no store."""
        return None

    def with_store(self, name: str) -> Self:  # noqa: ARG002 - for sinks of a store
        """The same, with the name of the store that the options leave out."""
        return self

    @property
    def table_text(self) -> str | None:
        """The table as written, which may be a template; None if the options name no table."""
        return None

    @property
    def fixed_table(self) -> str | None:
        """The table if it is the same for every event; None if the event names it."""
        return None

    def tables_of(self, topics: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 - for templates
        """The tables of the events of these topics, if nothing else of an event decides them; else none."""
        return () if self.fixed_table is None else (self.fixed_table,)

    @property
    def has_event_time(self) -> bool:
        """Whether the timestamp of its cells is the event time; else it is the batch time."""
        return False

    @property
    def cell_prefix(self) -> str | None:
        """Prefix of cell attributes; the attribute equal to the prefix is the row key. None without such a rule."""
        return None

    @property
    def adds_cells(self) -> bool:
        """Whether it writes cells besides those of attributes."""
        return False

    @property
    def keeps_bare_names(self) -> bool:
        """Whether an attribute with the prefix becomes a cell though its name has no family."""
        return False

    def row_key_template(self) -> tuple[OptionPath, frozenset[str]] | None:
        """The option with the row key's template, and what it reads; None if an attribute is the row key."""
        return None

    @property
    def on_unknown_family(self) -> str | None:
        """The action for a family that the table lacks: create, error or drop; None if the store decides."""
        return None

    def named_durabilities(self) -> Iterable[tuple[OptionPath, Durability]]:
        """Durabilities that the options name, with their option."""
        return ()

    def named_ttls(self) -> Iterable[tuple[OptionPath, int | None]]:
        """Options that give cells a time to live of their own, in milliseconds; None if it depends on the event."""
        return ()

    def named_deletes(self) -> Iterable[OptionPath]:
        """Options that delete rows, families or columns."""
        return ()

    def named_families(self) -> Iterable[tuple[OptionPath, str]]:
        """Families that the options name, with their option; includes denied families."""
        return ()

    def family_rule(self, family: str) -> bool | None:  # noqa: ARG002 - for sinks that allow or deny families
        """Whether the options allow (True) or deny (False) a family; None if they have no rule for it."""
        return None

    def findings(self) -> Iterable[Finding]:
        """The problems between its options."""
        return ()


class DerivedOption(NamedTuple):
    """
    The value of an option that another file gives, which the options name.

    Attributes:
        path: of the option.
        value: as in YAML; an empty mapping for options without any.
        place: in the other file, as `FILE:LINE`.
    """

    path: tuple[str, ...]
    value: str | dict[str, str]
    place: str


class StoreSettings(Model):
    """Options of a store. Callers use the properties and methods below, never an option by its name."""

    @property
    def derived(self) -> tuple[DerivedOption, ...]:
        """The options that other files give, for `attr2hbase config show`; not those that the pipeline file has."""
        return ()

    @property
    def own_folder(self) -> Path | None:
        """The local folder that only one process may write; None for a store on other machines, which tasks write."""
        return None

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server that it connects to, for `attr2hbase doctor`; empty for a local store."""
        return ()

    @property
    def creates_tables(self) -> bool:
        """Whether a missing table is created at the first write; equal to the store's capability."""
        return True

    @property
    def worker_connections(self) -> int:
        """Number of connections that a worker process opens to write for one pipeline."""
        return 1

    @property
    def max_put_bytes(self) -> int | None:
        """Maximum size of a put that several events of one row are folded into; None without a limit."""
        return None

    @property
    def unsupported_reason(self) -> tuple[str, str] | None:
        """Why families that events name cannot be created with these options, and what to do; None if they can."""
        return None

    @property
    def bulk_load_refusal(self) -> tuple[str, str] | None:
        """Why no files can be loaded with these options, and what to do; None if they can."""
        able = "`hbase` stores with the native RPC (`bootstrap_servers` or `zookeeper`)"
        return "loads no files", f"leave `bulk_load` out: only {able} load files"

    @property
    def without_attributes(self) -> tuple[str, str] | None:
        """Why attributes of families have no effect in it, and what to do; None if they have."""
        return "has none", "they are HBase's"

    def attribute_refusal(self, name: str) -> tuple[str, str] | None:  # noqa: ARG002 - for stores that have some
        """Why an attribute of families, by HBase's name, cannot be set in it, and what to do; None if it can."""
        return None

    @property
    def cell_ttl_refusal(self) -> tuple[str, str] | None:
        """Why no put can have a time to live of its own, and what to do; None if it can."""
        return "keeps no time to live of single cells", "write `ttl` of their family under `tables`"

    def durability_refusal(self, durability: Durability) -> tuple[str, str] | None:
        """Why no row can be written with a durability, and what to do; None if it can."""
        if durability in {Durability.SKIP, Durability.SYNC}:
            return None
        return f"has no durability `{durability}`", "write `sync` or `skip`"

    def with_timeout(self, timeout_s: float) -> Self:  # noqa: ARG002 - for stores that wait
        """The same options with this timeout for each call."""
        return self

    def in_folder(self, folder: Path) -> Self:  # noqa: ARG002 - for stores with paths
        """The same options for a process that runs in another folder: relative paths start at this one."""
        return self
