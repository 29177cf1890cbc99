"""Tables as a file declares them, for the features of tables: their options, and where problems are reported."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from ingest.api.cells import family_rejection
from ingest.api.notation import name_to_bytes
from ingest.api.settings import Finding, OptionPath, SinkSettings, StoreSettings
from ingest.api.source import SourceSettings

ComponentText = Annotated[str | dict[str, object], WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})]
"""A component as it is written: its name, or `name: {options}`; reading a file checks it."""


class Locator(Protocol):
    """What finds the components that a file names: the catalog."""

    def load(self, component_type: str, name: str) -> type[Any]:
        """The class of a component; raises CatalogError if it cannot be imported."""

    def located(self, component_type: str, component: Any) -> Any:
        """A component of a file with the import path of its class, for a plan."""


class DeclaredTable(Protocol):
    """A table of a file."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def options(self) -> Any:
        """`ingest.config.tables.TableOptions`, with the options of each feature by its name."""

    @property
    def components(self) -> Mapping[OptionPath, Any]:
        """Path of an option that names a component -> `ingest.config.model.Component`, unless it is invalid."""


class CheckedSink(Protocol):
    """
    A sink of a file that is checked.

    Attributes:
        pipeline: name of its pipeline.
        settings: its options.
        source: the options of the source of its pipeline; None if they are invalid.
    """

    pipeline: str
    settings: SinkSettings
    source: SourceSettings | None

    def report(self, finding: Finding) -> None:
        """Report a problem of its options."""

    def report_source(self, finding: Finding) -> None:
        """Report a problem of the options of the source."""


class CheckedTable(DeclaredTable, Protocol):
    """
    A table of a file that is checked.

    Attributes:
        store: the options of its store; None if they are invalid.
        store_kind: the name of the component, such as `hbase`; "" if there are no options.
        sinks: that name it, in its store.
        other_sinks: of its store, whose events may name it.
    """

    store: StoreSettings | None
    store_kind: str
    sinks: Sequence[CheckedSink]
    other_sinks: Sequence[CheckedSink]

    def report(self, finding: Finding) -> None:
        """Report a problem of its options; at the table if the file has no part of the path."""


class CheckedFile(Protocol):
    """
    A file that is checked; what is invalid by itself is left out.

    Attributes:
        tables: by name, in the order of the file.
        sinks: of all pipelines, in the order of the file.
        local_slots: number of Spark's task slots; None if the file does not say it.
        locator: finds the components that the file names.
    """

    tables: Mapping[str, CheckedTable]
    sinks: Sequence[CheckedSink]
    local_slots: int | None
    locator: Locator


class NamedColumn(NamedTuple):
    """
    A column or a family of a table that an option names.

    Attributes:
        path: of the option.
        name: `family:qualifier` or `family`.
        unless_set: what happens if no decorator sets the column, for a message: "so …".
    """

    path: OptionPath
    name: str
    unless_set: str


def refuse_without_family(option: str, columns: Iterable[tuple[int | str, str]]) -> None:
    """
    Refuse names of columns that begin with no possible family.

    Args:
        option: name of the option.
        columns: place of a column in the value of the option, and its name.

    Raises:
        ValidationError: of all of them.
    """
    refused = [
        InitErrorDetails(
            type=PydanticCustomError(
                "wrong_type", "{column} names no family", {"column": column, "hint": "write FAMILY:QUALIFIER"}
            ),
            loc=(place,),
            input=None,
        )
        for place, column in columns
        if family_rejection(name_to_bytes(column.partition(":")[0])) is not None
    ]
    if refused:
        raise ValidationError.from_exception_data(option, refused)
