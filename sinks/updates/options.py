"""The option `updates` of tables."""

from pydantic import field_validator

from ingest.api import Duration, Model, option
from ingest.api.declared_table import ComponentText, refuse_without_family

DEFAULT_SPAN = "1h"
"""Default age from which updates are merged, and default length of the windows."""


class CompactionOptions(Model):
    """Which updates of a table a compaction merges."""

    older_than: Duration = option(
        "Updates of this time before the newest complete micro-batch of the table stay as they are.",
        default=DEFAULT_SPAN,
        ge=0,
    )
    window: Duration = option(
        "Updates are merged within windows of this length, the shortest interval that `attr2hbase rollback` can roll "
        "back afterwards.",
        default=DEFAULT_SPAN,
        ge=0.001,
    )


class CompactOptions(CompactionOptions):
    """How the service that writes a table merges its updates."""

    every: Duration = option("Time between the starts of two compactions.", example="10m", ge=1)


class UpdatesOptions(Model):
    """How the updates of a row are merged: rows are appended, and merged when they are read."""

    processor: ComponentText = option(
        "Processor that merges the updates of a column, by its name or as `name: {options}`.", example="sum"
    )
    columns: list[str] = option(
        "Columns (`family:qualifier`) and families that the processor merges; all if left out. Of other columns the "
        "newest value remains.",
        default=[],
        example=["c:hits"],
    )
    compact: CompactOptions | None = option(
        "Compacts the table regularly, as a job of the service that writes it. It can be changed at any time.",
        default=None,
        example={"every": "10m"},
    )

    @field_validator("columns")
    @classmethod
    def _families_can_exist(cls, columns: list[str]) -> list[str]:
        refuse_without_family("columns", enumerate(columns))
        return columns
