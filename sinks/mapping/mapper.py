"""The contract of a sink that writes to a store: a pure function from an event to mutations, and its options."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, Self, TypeVar, final

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from ingest.api import (
    ByteSize,
    Durability,
    Event,
    Finding,
    Model,
    Mutation,
    OptionPath,
    Origin,
    SinkSettings,
    option,
)
from ingest.api.component import ComponentBase
from ingest.expressions import Condition, Pattern, Template
from sinks.mapping.ttl import TtlTemplate, constant_ttl


class Timestamp(StrEnum):
    """The timestamp of a cell."""

    BATCH = "batch"
    EVENT = "event"


class OnUnknown(StrEnum):
    """The action for an event with a family that does not exist."""

    CREATE = "create"
    ERROR = "error"
    DROP = "drop"


class FamilyOptions(Model):
    """Which column families events may write to."""

    allow: list[str] | None = option("Only these families; all when left out.", default=None, example=["web", "app"])
    deny: list[str] = option("Never these families.", default=[], example=["internal"])
    on_unknown: OnUnknown | None = option(
        "For a family that the table lacks: create it, error, or drop the event. Default: create if the store can "
        "(an hbase store needs `thrift2` or `bootstrap_servers`), else error.",
        default=None,
        strict=False,
    )
    max_created: int = option(
        "Maximum number of families of a table besides those under `tables`. If several sinks write to a table, the "
        "largest value applies; the value of a sink whose table is a template, to tables that no other sink names.",
        default=20,
        ge=0,
    )


class ColumnOptions(Model):
    """Limits on the columns that one event may write."""

    max_per_row: int | None = option("Maximum number of cells of one event.", default=None, ge=1, example=500)
    max_value_bytes: ByteSize | None = option("Largest value of a cell.", default=None, example="1MiB")
    name_pattern: Pattern | None = option(
        "Qualifiers must match this regular expression in full, on characters if they are UTF-8, else on bytes.",
        default=None,
        example="[a-z0-9_]+",
    )


class Rule(Model):
    """An exception for some events: they have another durability, or delete."""

    when: Condition = option(
        "Condition for the rule; the first rule that holds wins.", example="%{priority} == 'DEBUG'"
    )
    write_to_wal: bool | None = option(
        "False skips the store's write-ahead log for these events, as `durability: skip`; true is `durability: sync`.",
        default=None,
    )
    durability: Durability | None = option(
        "How safe these rows are when a call returns, as `durability` of the sink.",
        default=None,
        strict=False,
        example="fsync",
    )
    delete: str | dict[str, str] | None = option(
        "Delete instead of write: `row`, `{family: cf}` or `{column: 'cf:q'}`. If the table lacks the family, the "
        "event is dropped as unknown_family, or fails with `on_unknown: error`.",
        default=None,
        example="row",
    )

    @property
    def row_durability(self) -> Durability | None:
        """As `durability` or `write_to_wal` says; None if the rule has neither."""
        return self.durability or _durability_of(self.write_to_wal)

    @field_validator("delete")
    @classmethod
    def _one_form(cls, delete: str | dict[str, str] | None) -> str | dict[str, str] | None:
        match delete:
            case None | "row":
                return delete
            case {"family": family, **rest} if not rest and family and ":" not in family:
                return delete
            case {"column": column, **rest} if not rest and column.find(":") > 0:
                return delete
            case _:
                raise PydanticCustomError("wrong_type", "delete is `row`, `{family: cf}` or `{column: 'cf:q'}`")


class MapperSettings(SinkSettings):
    """Options of every sink that writes to a store."""

    store: str | None = option(
        "Name of a store under `stores`; may be left out if there is only one.", default=None, example="logs"
    )
    write_buffer_size: ByteSize = option(
        "Maximum size of a call to the store; of the sinks of one store the largest value applies. For a store that "
        "the driver writes, such as rocksdb, a task buffers at least 16MiB.",
        default="2MiB",
        ge=1,
    )
    write_to_wal: bool = option(
        "False skips the store's write-ahead log, as `durability: skip`: faster, and unflushed rows are lost with the "
        "server.",
        default=True,
    )
    durability: Durability | None = option(
        "How safe a row is when a call returns: `skip` (without the write-ahead log), `async` (the log is written a "
        "moment later), `sync` (in the log, on all machines with a copy of it) or `fsync` (and on their disks). A "
        "crash of a region server loses unflushed rows with `skip`, and the newest rows with `async`. `async` and "
        "`fsync` need an hbase store with `bootstrap_servers`. Default: as `write_to_wal` says.",
        default=None,
        strict=False,
        example="fsync",
    )
    timestamp: Timestamp = option(
        "Timestamp of the cells: `batch` (the batch time, the same on a replay) or `event` (the event time).",
        default="batch",
        strict=False,
    )
    ttl: TtlTemplate | None = option(
        "Time to live of the cells, counted from their timestamps: a duration, or a template that gives one, in which "
        "an absent attribute is an error and empty text is no time to live. Cells live no longer than their family's "
        "`ttl`. Only in an hbase store.",
        default=None,
        example="%{ttl_ms}ms",
    )
    rules: list[Rule] = option("Exceptions by condition; the first that holds wins.", default=[])
    families: FamilyOptions = option("Which families may be written and created.", default={})
    columns: ColumnOptions = option("Limits on columns.", default={})

    @property
    def store_name(self) -> str:
        """The option `store`."""
        return self.store or ""

    def with_store(self, name: str) -> Self:
        """The same, with this `store`."""
        return self.model_copy(update={"store": name})

    @property
    def table_template(self) -> Template | None:
        """The template of the table; None if the options have none."""
        return None

    @property
    def table_text(self) -> str | None:
        """The template as it is written."""
        return None if self.table_template is None else self.table_template.text

    @property
    def fixed_table(self) -> str | None:
        """The table if the template reads nothing of an event."""
        return None if self.table_template is None else constant_text(self.table_template)

    def tables_of(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Those of a template that reads the topic alone too, unless `when` lets only some events through."""
        template = self.table_template
        if template is None or self.when is not None or template.references != {"topic"}:
            return super().tables_of(topics)
        origins = (Origin(topic, 0, 0, 0) for topic in topics)
        return tuple(template.render(Event(b"", origin=origin)).decode(errors="replace") for origin in origins)

    @property
    def has_event_time(self) -> bool:
        """Whether `timestamp` is `event`."""
        return self.timestamp is Timestamp.EVENT

    @property
    def row_durability(self) -> Durability:
        """As `durability` or `write_to_wal` says; rules may name others."""
        return self.durability or _durability_of(self.write_to_wal) or Durability.SYNC

    def row_durabilities(self) -> frozenset[Durability]:
        """Those that rows may have: that of the sink, and those of its rules."""
        return frozenset([self.row_durability, *(rule.row_durability or self.row_durability for rule in self.rules)])

    def named_durabilities(self) -> Iterator[tuple[OptionPath, Durability]]:
        """That of the sink and those of its rules, as `durability` or `write_to_wal` names them."""
        owners: list[tuple[OptionPath, MapperSettings | Rule]] = [((), self)]
        owners += [(("rules", index), rule) for index, rule in enumerate(self.rules)]
        for path, owner in owners:
            if owner.durability is not None:
                yield (*path, "durability"), owner.durability
            elif "write_to_wal" in owner.model_fields_set and owner.row_durability is not None:
                yield (*path, "write_to_wal"), owner.row_durability

    def named_ttls(self) -> Iterator[tuple[OptionPath, int | None]]:
        """The option `ttl`."""
        if self.ttl is not None:
            yield ("ttl",), constant_ttl(self.ttl)

    def named_deletes(self) -> Iterator[OptionPath]:
        """Those of `rules`."""
        yield from (("rules", index, "delete") for index, rule in enumerate(self.rules) if rule.delete is not None)

    @property
    def on_unknown_family(self) -> str | None:
        """As `families` says."""
        return self.families.on_unknown

    @property
    def own_families(self) -> frozenset[bytes]:
        """Families that the options themselves name; they do not count towards `families.max_created`."""
        return frozenset()

    def named_families(self) -> Iterator[tuple[OptionPath, str]]:
        """Those of `rules`, and those that `families` allows or denies."""
        for index, rule in enumerate(self.rules):
            match rule.delete:
                case {"family": family}:
                    yield ("rules", index, "delete", "family"), family
                case {"column": column}:
                    yield ("rules", index, "delete", "column"), column.partition(":")[0]
        for name, families in (("allow", self.families.allow or ()), ("deny", self.families.deny)):
            for index, family in enumerate(families):
                yield ("families", name, index), family

    def family_rule(self, family: str) -> bool | None:
        """As `families` says: with `allow`, other families are denied."""
        allow = self.families.allow
        if family in self.families.deny or (allow is not None and family not in allow):
            return False
        return None if allow is None else True

    def findings(self) -> Iterator[Finding]:
        """
        Families both allowed and denied; a durability that is written in two ways; rules without an action, or after
        a rule that always holds.
        """
        for family in sorted(set(self.families.allow or ()) & set(self.families.deny)):
            path = ("families", "deny", self.families.deny.index(family))
            yield Finding(path, f'family "{family}" is both allowed and denied')
        if {"durability", "write_to_wal"} <= self.model_fields_set:
            yield _two_durabilities()
        has_catch_all = False
        for index, rule in enumerate(self.rules):
            if has_catch_all:
                message = "an earlier rule holds for every event"
                yield Finding(("rules", index), message, kind="unreachable")
            if rule.durability is not None and rule.write_to_wal is not None:
                yield _two_durabilities("rules", index)
            if rule.row_durability is None and rule.delete is None:
                message = 'a rule needs "durability", "write_to_wal" or "delete"'
                yield Finding(("rules", index), message, kind="missing_field")
            has_catch_all = has_catch_all or rule.when.constant is True


def _durability_of(write_to_wal: bool | None) -> Durability | None:  # noqa: FBT001 - the option
    match write_to_wal:
        case None:
            return None
        case True:
            return Durability.SYNC
        case _:
            return Durability.SKIP


def _two_durabilities(*path: str | int) -> Finding:
    """Both options of a sink or a rule."""
    return Finding(
        (*path, "durability"),
        "`durability` and `write_to_wal` say the same; write one of the two",
        see=(*path, "write_to_wal"),
    )


def constant_text(template: Template) -> str | None:
    """The text of a template that reads nothing of an event; None for all others."""
    return None if template.constant is None else template.constant.decode(errors="replace")


Mapped = tuple[str, Mutation]
"""A table and a mutation of it."""


@final
class Skipped(NamedTuple):
    """An event that is dropped on purpose."""

    reason: str


S = TypeVar("S", bound=MapperSettings)


class Mapper(ComponentBase[S]):
    """
    One event in, its mutations out.

    Constructed once for each worker process and sink. Pure: the same event and batch time give the same mutations.
    """

    settings_base = MapperSettings

    @abstractmethod
    def map(self, event: Event, batch_time_ms: int) -> Sequence[Mapped] | Skipped:
        """
        The mutations of an event, of one table or several, such as a data row and an index row.

        Row keys and timestamps must be valid in HBase (see `mutation_maker`). If one mutation cannot be written, the
        whole event fails or is dropped. Rows of several tables do not become visible at the same time.

        Returns:
            At least one mutation, or `Skipped` for an event that is dropped on purpose. An empty sequence is a fault of
            the sink: the event fails with `sink_bug`.

        Raises:
            MappingError: this sink cannot write the event.
        """
