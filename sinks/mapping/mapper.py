"""What a sink is: a pure function from an event to one mutation of one table, and the options every sink has."""

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import ClassVar, Generic, NamedTuple, TypeVar

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from ingest.api import ByteSize, Event, Example, Model, Mutation, Settings, Stability, option
from ingest.api.component import settings_class_of
from ingest.expressions import Condition, Pattern, Template


class Timestamp(StrEnum):
    """Where the time of a cell comes from."""

    BATCH = "batch"
    EVENT = "event"


class OnUnknown(StrEnum):
    """What a sink does with an event for a family that does not exist."""

    CREATE = "create"
    ERROR = "error"
    DROP = "drop"


class FamilyOptions(Model):
    """Which column families events may write to."""

    allow: list[str] | None = option("Only these families; all when left out.", default=None, example=["web", "app"])
    deny: list[str] = option("Never these families.", default=[], example=["internal"])
    on_unknown: OnUnknown | None = option(
        "A family the table does not have: create it, error, or drop the event. Left out: create where the store can "
        "(an hbase store needs `thrift2`), else error.",
        default=None,
        strict=False,
    )
    max_created: int = option(
        "At most so many families of a table beyond those under `tables`. Of several sinks that write to the table the "
        "largest number holds; of one whose table is a template, in the tables that no other sink names.",
        default=20,
        ge=0,
    )


class ColumnOptions(Model):
    """Limits on the columns one event may write."""

    max_per_row: int | None = option("At most so many cells of one event.", default=None, ge=1, example=500)
    max_value_bytes: ByteSize | None = option("Largest value of a cell.", default=None, example="1MiB")
    name_pattern: Pattern | None = option(
        "Qualifiers must match this regular expression in full.", default=None, example="[a-z0-9_]+"
    )


class Rule(Model):
    """What is different for some events: they skip the WAL, or they delete."""

    when: Condition = option(
        "Condition for the rule; the first rule that holds wins.", example="%{priority} == 'DEBUG'"
    )
    write_to_wal: bool | None = option("False skips the store's write-ahead log for these events.", default=None)
    delete: str | dict[str, str] | None = option(
        "Delete instead of write: `row`, `{family: cf}` or `{column: 'cf:q'}`. In a family that the table does not "
        "have there is nothing to delete: the event is dropped as unknown_family, or fails with `on_unknown: error`.",
        default=None,
        example="row",
    )

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


class SinkSettings(Settings):
    """Options every sink has."""

    store: str | None = option(
        "Name of a store under `stores`; may be left out when there is one.", default=None, example="logs"
    )
    write_buffer_size: ByteSize = option(
        "How large a call to the store may be; of the sinks of one store the largest value counts. A task holds "
        "at least 16MiB for a store that the driver writes, as rocksdb.",
        default="2MiB",
        ge=1,
    )
    write_to_wal: bool = option(
        "False skips the store's write-ahead log: faster, and unflushed rows are lost with the server.", default=True
    )
    timestamp: Timestamp = option(
        "Time of the cells: `batch` (the micro-batch's own, the same on a replay) or `event`.",
        default="batch",
        strict=False,
    )
    rules: list[Rule] = option("Exceptions by condition; the first that holds wins.", default=[])
    families: FamilyOptions = option("Which families may be written and made.", default={})
    columns: ColumnOptions = option("Limits on columns.", default={})

    @property
    def fixed_table(self) -> str | None:
        """The table when it is the same for every event, None when events name it."""
        table: Template | None = getattr(self, "table", None)
        return None if table is None or table.constant is None else table.constant.decode()

    @property
    def own_families(self) -> frozenset[bytes]:
        """Families that the options themselves name; events do not ask for them, so they count against no limit."""
        return frozenset()


Mapped = tuple[str, Mutation]
"""An event as a mutation, and the table it is for."""


class Skipped(NamedTuple):
    """An event that becomes nothing, on purpose."""

    reason: str


S = TypeVar("S", bound=SinkSettings)


class Mapper(ABC, Generic[S]):
    """
    One event in, one mutation or none out; pure.

    Constructed once a worker process and sink. The same event and batch time give the same mutation, always.
    """

    kind: ClassVar[str]
    stability: ClassVar[Stability] = Stability.STABLE
    examples: ClassVar[tuple[Example, ...]] = ()

    def __init__(self, settings: S) -> None:
        self.settings = settings

    @classmethod
    def settings_class(cls) -> type[SinkSettings]:
        """The options of this sink."""
        return settings_class_of(cls, SinkSettings)

    @abstractmethod
    def map(self, event: Event, batch_time_ms: int) -> Mapped | Skipped:
        """
        The mutation an event stands for, with a row key and a time that HBase has a place for (see `mutation_maker`).

        Raises:
            MappingError: this event can not be written by this sink.
        """
