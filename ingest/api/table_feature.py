"""
The contract of a table feature: what changes how a table is written, such as a change feed.

A feature has an option of its name in `tables`, a folder in `sinks`, and a line in `sinks.BUILTIN_FEATURES`. The driver
plans it for each declared table; the tasks put its writer before that of the features below it, and wrap the
connections of the store; the driver wraps the committer.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol

from ingest.api.sink import Committer
from ingest.api.table_writer import FeatureMessages, FirstWriter, RowReader, TableWriter

Counted = Counter[tuple[str, str]]
"""As `WriteCounts.counted`."""


class Locator(Protocol):
    """What finds the components that a file names: the catalog."""

    def load(self, component_type: str, name: str) -> type[Any]:
        """The class of a component; raises CatalogError if it cannot be imported."""

    def located(self, component_type: str, component: Any) -> Any:
        """A component of a file with the import path of its class, for a plan."""


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
        create: constructs a component of the plan with its settings.
    """

    store: str
    table: str
    features: Collection[str]
    reader: RowReader
    withdraws: bool
    max_put_bytes: int | None
    create: Callable[[Any], Any]


class PreparedFeatures(NamedTuple):
    """
    What the driver says to the writers of one attempt.

    Attributes:
        messages: to the writers.
        times_ms: that the driver has chosen for rows, besides the batch time.
    """

    messages: FeatureMessages = MappingProxyType({})
    times_ms: tuple[int, ...] = ()


class StoreFeatures:
    """The half on the driver of the features of one store's tables; of tables without features as it is."""

    def prepare(self, batch_time_ms: int) -> PreparedFeatures:  # noqa: ARG002 - for features with a message
        """
        Prepare an attempt at a micro-batch; the same in every attempt.

        Raises:
            IngestError: RETRY if the store is unavailable, STOP if a feature cannot be used.
        """
        return PreparedFeatures()


class TableFeature(ABC):
    """A feature of tables; constructed on the driver and in each worker process, without I/O."""

    name: ClassVar[str]
    needs_ranks: ClassVar[bool] = False
    """Whether its writer needs the ranks of the splits."""
    only_named: ClassVar[bool] = False
    """Whether only a sink that names the table can write it; else also one whose events name it."""
    is_in_dry_runs: ClassVar[bool] = True
    """Whether `explain` and `test` show what its writer writes; they show the rows of the table itself alone."""

    @abstractmethod
    def planned(self, table: Any, locator: Locator) -> Any:
        """
        What the tasks of a pipeline need to know of a table, as data; None if the table lacks the feature.

        Args:
            table: `ingest.config.model.Table`, as declared.
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

    def connection(self, target: Any, planned: Mapping[str, Any], staging: Any = None) -> Any:  # noqa: ARG002
        """
        What tasks write to.

        Args:
            target: `sinks.writing.target.Target`, around which the feature puts something.
            planned: name of a table -> as `planned`, for the tables of the store that have the feature.
            staging: the `sinks.writing.staging.StagingWriter` below the target; None if tasks write to the store.
        """
        return target

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


FeaturePlan = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Name of a store -> table -> feature -> as `TableFeature.planned` returned it."""


def planned_of(plan: Mapping[str, Mapping[str, Any]], feature: str) -> dict[str, Any]:
    """Table -> what is planned of one feature, for the tables of a store that have it."""
    return {table: features[feature] for table, features in plan.items() if feature in features}
