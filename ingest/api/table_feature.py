"""
The contract of a table feature: what changes how a table is written and read, such as a change feed.

A feature has an option of its name in `tables`, a folder in `sinks`, and a line in `sinks.BUILTIN_FEATURES`. Reading a
file checks its options; the driver plans it for each declared table; the tasks put its writer before that of the
features below it, and wrap the connections of the store; the driver wraps the committer.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from ingest.api.cells import TableSpec
from ingest.api.declared_table import CheckedFile, CheckedTable, DeclaredTable, Locator, NamedColumn
from ingest.api.driver_feature import DriverFeature, DriverTables
from ingest.api.settings import Model
from ingest.api.sink import Committer
from ingest.api.store import Store
from ingest.api.table_reader import ReadColumn, ReaderPlace, Recorded, RowKeys, TableReader
from ingest.api.table_writer import FirstWriter, RowReader, TableWriter

OptionsT = TypeVar("OptionsT", bound=Model)

Counted = Counter[tuple[str, str]]
"""As `WriteCounts.counted`."""


@dataclass(frozen=True, slots=True)
class WriterPlace:
    """
    Where a writer of a table is.

    Attributes:
        store: name of the store in the configuration, for messages.
        table: its name.
        features: names of the features of the table.
        reader: reads rows before they are changed.
        withdraws: whether an earlier attempt may have written rows that the store refuses now: then they are deleted.
        max_put_bytes: maximum size of a put; None for none.
    """

    store: str
    table: str
    features: Collection[str]
    reader: RowReader
    withdraws: bool
    max_put_bytes: int | None


class DeadLetterPlace(NamedTuple):
    """
    Where a pipeline keeps large values of records that fail, so that dead letters do not contain them.

    Attributes:
        store: name of the store.
        table: name of the table whose feature keeps them.
        planned: of the table.
        feature: its name.
    """

    store: str
    table: str
    planned: Any
    feature: str = ""


class TableFeature(ABC, Generic[OptionsT]):
    """
    A feature of tables; constructed on the driver and in each worker process, without I/O or arguments.

    Attributes:
        name: of the feature, and of its option in `tables`.
        text: what the option does, for the reference.
        example: of a value of the option, as in a file.
        options_model: the class of the value of the option.
        component_types: name of an option that names a component -> type of the component, as `processors`.
        adds_to_rows: whether events add to a row of the table, so that none replaces what another has written, and none
            may be counted twice.
        has_owner: whether one pipeline owns a table with the feature: it alone knows up to which batch time the table
            is complete.
        is_followed: whether programs read what is written, in order, up to the committed position of the table.
        words: for a feature with an owner, in messages, as in "a feed"; such a feature is recorded in the property of a
            table that has its name.
        needs_ranks: whether its writer needs the ranks of the splits.
        only_named: whether only a sink that names the table can write it; else also one whose events name it.
        is_in_dry_runs: whether `explain` and `test` show what its writer writes; they show the rows of the table alone.
        has_large_chunks: whether the connection of a store with such a table gets chunks of many rows, of any times,
            puts and deletes together; it divides them into calls.
        read_properties: names of other properties of a table that its reader needs, beside the one with its name.
        read_options: name of an option of `get`, `scan` and DataFrames that its reader takes -> the column that the
            reader adds to `TableReader.in_range` then; None for none.
    """

    name: ClassVar[str]
    text: ClassVar[str]
    example: ClassVar[Mapping[str, object]]
    options_model: ClassVar[type[Model]]
    component_types: ClassVar[Mapping[str, str]] = MappingProxyType({})
    adds_to_rows: ClassVar[bool] = False
    has_owner: ClassVar[bool] = False
    is_followed: ClassVar[bool] = False
    words: ClassVar[str] = ""
    needs_ranks: ClassVar[bool] = False
    only_named: ClassVar[bool] = False
    is_in_dry_runs: ClassVar[bool] = True
    has_large_chunks: ClassVar[bool] = False
    read_properties: ClassVar[Collection[str]] = ()
    read_options: ClassVar[Mapping[str, ReadColumn | None]] = MappingProxyType({})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def options_of(cls, table: DeclaredTable) -> OptionsT | None:
        """The value of its option for a table; None if the table lacks the feature."""
        found: OptionsT | None = getattr(table.options, cls.name, None)
        return found

    def check(self, options: OptionsT, table: CheckedTable, file: CheckedFile) -> None:
        """Report what a table with the feature cannot be, and the sinks that cannot write it."""

    def columns(self, options: OptionsT) -> Sequence[NamedColumn]:  # noqa: ARG002 - for features with columns
        """The columns and families of the table that the options name."""
        return ()

    def column_types(self, table: DeclaredTable, locator: Locator) -> Mapping[bytes, str]:  # noqa: ARG002 - as above
        """As `ingest.formats.column_types.ColumnTypes`, for columns whose values the feature writes."""
        return {}

    def declared(self, spec: TableSpec, table: DeclaredTable) -> TableSpec:  # noqa: ARG002 - for features of a store
        """The definition with which a store creates the table, given the one without the feature."""
        return spec

    def declared_tables(self, table: DeclaredTable) -> Mapping[str, Mapping[str, object]]:  # noqa: ARG002
        """Further tables that the file declares with this one: name -> options, as in a file."""
        return {}

    def internal_tables(self, spec: TableSpec) -> Sequence[TableSpec]:  # noqa: ARG002 - for features with tables
        """Tables of the feature that the store has beside a table, and that no file may declare."""
        return ()

    def is_in(self, spec: TableSpec) -> bool:  # noqa: ARG002 - for features of a store
        """Whether a definition has the feature, as `declared` adds it."""
        return False

    def check_store(self, store: Store[Any], table: DeclaredTable) -> str:  # noqa: ARG002 - for features that can tell
        """
        Check that a store can have the table with the feature, as far as it can be told without writing.

        Args:
            store: of the table, open for reading.
            table: as declared, with the feature.

        Returns:
            What was found beyond that, for `attr2hbase validate --connect`: a clause with `{tables}` for the number of
            tables of which it is the same, or nothing.

        Raises:
            IngestError: it cannot; or the store is unavailable.
        """
        return ""

    def on_driver(self, tables: DriverTables) -> DriverFeature:  # noqa: ARG002 - for features with such a half
        """The half on the driver, for the tables of one pipeline."""
        return DriverFeature()

    @abstractmethod
    def planned(self, table: DeclaredTable, locator: Locator) -> Any:
        """
        What the tasks of a pipeline need to know of a table with the feature, as data; None for nothing.

        Args:
            table: as declared.
            locator: of the configuration.

        Raises:
            CatalogError: a component cannot be imported.
        """

    def components(self, planned: Any) -> Sequence[Any]:  # noqa: ARG002
        """The components in what is planned of a table, which a worker must be able to import."""
        return ()

    def writer(self, next_writer: TableWriter, planned: Any, place: WriterPlace) -> FirstWriter | None:  # noqa: ARG002
        """The writer of a table, before the next one; None if the feature writes the rows as they are."""
        return None

    def row_keys(self, recorded: Recorded) -> RowKeys | None:  # noqa: ARG002 - for features that change row keys
        """
        The row keys of a table that has the feature; None if it stores them as they are, or the table lacks it.

        Args:
            recorded: of the table, which may have another feature than the file declares.
        """
        return None

    def planned_to_read(
        self,
        table: DeclaredTable,  # noqa: ARG002 - for features that change rows
        tables: Mapping[str, DeclaredTable],  # noqa: ARG002
        locator: Locator,  # noqa: ARG002
    ) -> Any:
        """
        What a reader of a declared table needs to know of the feature, as data; None for nothing.

        Args:
            table: as declared, with or without the feature.
            tables: of the file, by name.
            locator: of the configuration.

        Raises:
            CatalogError: a component cannot be imported.
        """
        return None

    def reader(self, below: TableReader, planned: Any, place: ReaderPlace) -> TableReader | None:  # noqa: ARG002
        """
        The reader of a table, above the one below it; None if the feature leaves the rows as they are.

        Called for each table: its record may have a feature that no file declares.

        Args:
            below: returns the rows as the features before this one read them.
            planned: as `planned_to_read`; None for a table that is not declared.
            place: of the reader.

        Raises:
            IngestError: the table cannot be read as it is declared, or as the options ask.
        """
        return None

    def connection(self, target: Any, planned: Mapping[str, Any], staging: Any) -> Any:  # noqa: ARG002
        """
        What tasks write to.

        Args:
            target: `sinks.writing.target.Target`, around which the feature puts something.
            planned: name of a table -> as `planned`, for the tables of the store that have the feature.
            staging: the `sinks.writing.staging.StagingWriter` below the target; None if tasks write to the store.
        """
        return target

    def message(
        self,
        planned: Any,  # noqa: ARG002 - as above
        *,
        is_behind: bool,  # noqa: ARG002
        is_replay: bool,  # noqa: ARG002
        is_again: bool,  # noqa: ARG002
    ) -> bytes | None:
        """
        What the driver says to the connections of the tasks of an attempt about a table; None for nothing.

        Args:
            planned: as `planned`.
            is_behind: whether the pipeline has more than two micro-batches of unread records, or it is not known.
            is_replay: whether it replays a time range or dead letters into a table that had rows before.
            is_again: whether an earlier attempt at the micro-batch may have written its rows, with the same times, and
                perhaps other values: of several of a row the last one in a task counts, and tasks may be divided
                otherwise; an event may have timed out; what decorators look up may have changed.
        """
        return None

    def committer(
        self,
        committer: Committer,
        store: Any,  # noqa: ARG002
        planned: Mapping[str, Any],  # noqa: ARG002
        on_counted: Callable[[Counted], None],  # noqa: ARG002
    ) -> Committer:
        """
        The committer of a store that only the driver writes, around that of the rows.

        Args:
            committer: of the rows.
            store: `sinks.writing.driver_store.DriverStore`.
            planned: as in `connection`.
            on_counted: called with what the committer has counted.
        """
        return committer

    def kept_above(self, planned: Any) -> int | None:  # noqa: ARG002 - for features that keep values
        """Size in bytes above which the feature keeps values of records that fail; None if it keeps none."""
        return None

    def dead_letter_sink(self, place: DeadLetterPlace, store: Any) -> Any:
        """
        Keeps these values in a task: a `TaskSink`, and as `ingest.dead_letters.blobs.DeadLetterBlobs`.

        Args:
            place: of the pipeline.
            store: of the task, not yet open.
        """
        raise NotImplementedError

    def dead_letter_committer(
        self, place: DeadLetterPlace, store: Any, folder: Path | None, on_counted: Callable[[Counted], None]
    ) -> Committer:
        """
        The committer of these values, before their dead letters are published.

        Args:
            place: of the pipeline.
            store: `sinks.writing.driver_store.DriverStore`.
            folder: of the files of this committer only; None if tasks write to the store.
            on_counted: as in `committer`.
        """
        raise NotImplementedError


StorePlan = Mapping[str, Mapping[str, Any]]
"""Name of a table of a store -> name of a feature -> as `TableFeature.planned` returned it."""

FeaturePlan = Mapping[str, StorePlan]
"""Name of a store -> what is planned of its tables."""


def planned_of(plan: StorePlan, feature: str) -> dict[str, Any]:
    """Table -> what is planned of one feature, for the tables of a store that have it."""
    return {table: features[feature] for table, features in plan.items() if feature in features}
