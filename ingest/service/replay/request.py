"""The request for a replay of a time range: of the command, over HTTP, and of the stored plan."""

import math
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    model_validator,
)

from ingest.api import ConfigError, Model
from ingest.formats.times import moment, moment_of
from ingest.service.request import request_of


def _milliseconds(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str):
        return moment_of(value)
    if info.mode == "json" and value is not None:
        raise ValueError("a time is text, as in 2026-01-31T12:00:00Z")
    return value


def _since_1970(time_ms: int) -> int:
    """The same time; Kafka gives negative ones other meanings."""
    if time_ms < 0:
        raise ConfigError(f'"{moment(time_ms)}" is before 1970', hint="write 1970-01-01 for the first records")
    return time_ms


TimeMs = Annotated[
    int, BeforeValidator(_milliseconds), AfterValidator(_since_1970), PlainSerializer(moment, when_used="json")
]
"""Milliseconds since 1970, 0 or later; in JSON and from text a time in ISO 8601 format, UTC if it has no zone."""


class ReplayRequest(Model):
    """
    Which records to replay, and how. In JSON the times have no suffix: `{"from": TIME, "to": TIME}`.

    Attributes:
        from_ms: `--from`: in each partition the first record that is not older.
        to_ms: `--to`: records before the first one that is not older than this.
        at_ms: `--at`: batch time for records that are in no logged batch; None for no such time.
        overwrite: `--overwrite`: give those records the present time.
        rate: `--rate`: maximum average of records per second; each micro-batch runs at full speed, and the next one
            waits. None for no limit.
        sinks: `--sink`: names of the only sinks that get the records; None for all.
        fingerprint: of the pipeline that the sender means, since the service may run an older file; None for any.

    Raises:
        ConfigError: a time has another format or is before 1970, the range is empty, or options exclude each other.
    """

    model_config = ConfigDict(alias_generator=lambda name: name.removesuffix("_ms"), populate_by_name=True)

    from_ms: TimeMs
    to_ms: TimeMs
    at_ms: TimeMs | None = None
    overwrite: bool = False
    rate: float | None = None
    sinks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    fingerprint: str | None = None

    @classmethod
    def of(cls, content: bytes) -> "ReplayRequest":
        """
        A request from its JSON.

        Raises:
            ConfigError: it is none.
        """
        return request_of(cls, content, 'send JSON as {"from": TIME, "to": TIME}')

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.from_ms >= self.to_ms:
            raise ConfigError("the range is empty: --from is not before --to", hint="times without a zone are UTC")
        if self.at_ms is not None and self.overwrite:
            raise ConfigError("--at and --overwrite were both given", hint="choose one of them")
        if self.rate is not None and not (math.isfinite(self.rate) and self.rate > 0):
            raise ConfigError("the rate must be above 0")
        return self

    def to_json(self) -> dict[str, Any]:
        """The same as plain data, as `of` reads it."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def selection(self) -> dict[str, Any]:
        """What determines the records, their times and their sinks, without the rate and the sender's pipeline."""
        times = {"from_ms": self.from_ms, "to_ms": self.to_ms, "at_ms": self.at_ms, "overwrite": self.overwrite}
        return times | ({"sinks": sorted(self.sinks)} if self.sinks else {})
