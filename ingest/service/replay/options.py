"""The options of a replay of a time range."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import ConfigError, Model, option
from ingest.formats.times import moment
from ingest.service.jobs.option_types import Moment, Value


def _since_1970(time_ms: int) -> int:
    """The same time; Kafka gives negative ones other meanings."""
    if time_ms < 0:
        raise PydanticCustomError(
            "bad_time", '"{time}" is before 1970; write 1970-01-01 for the first records', {"time": moment(time_ms)}
        )
    return time_ms


Since1970 = Annotated[Moment, AfterValidator(_since_1970)]


class ReplayOptions(Model):
    """
    Which records run again, and how.

    Raises:
        ConfigError: the range is empty, or options exclude each other.
    """

    from_: Since1970 = Field(
        alias="from",
        description="Timestamp of the first records, as in 2026-01-31T12:00:00Z: in each partition the first one that "
        "is not older.",
    )
    to: Since1970 = option("Records before this timestamp.")
    rate: PositiveInt | None = option("Maximum average of records per second.", default=None)
    at: Since1970 | None = option("Cell timestamp for records that are in no logged batch.", default=None)
    overwrite: bool = option("Write records that are in no logged batch at the present time.", default=False)
    sink: Annotated[list[Value], Field(min_length=1)] | None = option(
        "Only into this sink, by its label or kind.", default=None
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.from_ >= self.to:
            raise ConfigError("the range is empty: --from is not before --to", hint="times without a zone are UTC")
        if self.at is not None and self.overwrite:
            raise ConfigError("--at and --overwrite were both given", hint="choose one of them")
        return self

    def selection(self) -> dict[str, Any]:
        """What determines the records, their times and their sinks, as the stored plan has it; without the rate."""
        times = {"from_ms": self.from_, "to_ms": self.to, "at_ms": self.at, "overwrite": self.overwrite}
        return times | ({"sinks": sorted(self.sink)} if self.sink else {})
