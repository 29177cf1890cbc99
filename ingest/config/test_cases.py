"""The options under `tests`: input events and expected results; run by `attr2hbase test`."""

from typing import Any, Literal, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Durability, Model, option
from ingest.config.tables import Text

_PriorityName = Literal["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"]


class GivenRecord(Model):
    """A record of the source, to test its decoding too."""

    value: Text | None = option("The value; null for a tombstone.", example="56")
    key: Text | None = option("The key; null for none.", default=None, example="k1")
    headers: list[list[Text | None]] = option(
        "Pairs of name and value; names may repeat.", default=[], example=[["host", "web-1"]]
    )
    topic: str = option("Topic.", default="")
    partition: int = option("Partition.", default=0, ge=0)
    offset: int | None = option("Offset; the index of the input if left out.", default=None, ge=0, example=7)
    timestamp_ms: int = option("The record's timestamp.", default=0)

    @model_validator(mode="after")
    def _headers_are_pairs(self) -> Self:
        for header in self.headers:
            if len(header) != 2 or header[0] is None:  # noqa: PLR2004 - a name and a value
                raise PydanticCustomError("wrong_type", "a header is [NAME, VALUE]", {"option": "headers"})
        return self


class Given(Model):
    """An event, as in `attr2hbase explain --events`: a `body` and other parts, or a `record` alone."""

    body: Text | None = option("The body.", default=None, example="2238947398:56")
    record: GivenRecord | None = option("A record, which the source decodes.", default=None)
    attributes: dict[str, Text] = option("Attributes.", default={})
    host: str = option("Host.", default="")
    priority: _PriorityName = option("Priority.", default="INFO")
    timestamp_ms: int = option("Event time, and the batch time of the test.", default=0)
    nanos: int | None = option("Nanos; computed if left out.", default=None)
    key: Text = option("The record's key.", default="")
    topic: str = option("Topic.", default="")
    partition: int = option("Partition.", default=0, ge=0)
    offset: int | None = option("Offset; the index of the input if left out.", default=None, ge=0)

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.body is None and "body" in self.model_fields_set:
            hint = 'an empty body is "", a record without a value (a tombstone) is record: {value: null}'
            raise PydanticCustomError("wrong_type", "body must be text, not null", {"option": "body", "hint": hint})
        if self.body is None and self.record is None:
            raise PydanticCustomError("missing_field", 'an event needs "body" or "record"')
        if self.record is not None and self.model_fields_set != {"record"}:
            raise PydanticCustomError("conflict", '"record" excludes all other options', {"option": "record"})
        return self


class ExpectedPut(Model):
    """A put; only the options written here are compared."""

    sink: str | None = option("Kind or label of the sink.", default=None)
    store: str | None = option("Store it is written to.", default=None)
    table: str | None = option("Table.", default=None, example="mytable")
    row: Text | None = option("Row key, as it is stored.", default=None, example="k1-1308748686334000700")
    key: Text | None = option(
        "Row key as the sink gives it: without the bucket, if the table has `distribute`; else the same as `row`.",
        default=None,
        example="k1-1308748686334000700",
    )
    wal: bool | None = option("Whether the write-ahead log is used.", default=None)
    durability: Durability | None = option("Its durability.", default=None, strict=False)
    timestamp_ms: int | None = option("Timestamp of its cells.", default=None)
    ttl_ms: int | None = option(
        "Time to live of its cells in milliseconds, if the sink gives them one; else null.", default=None
    )
    delete: str | dict[str, str] | None = option(
        "What it deletes, in the form of a sink's rules.", default=None, example="row"
    )
    cells: dict[str, Text | None] | None = option(
        "`family:qualifier` -> value; null for a cell that must not exist.",
        default=None,
        example={"colfam:ts": "2238947398"},
    )


class ExpectedEvent(Model):
    """An event after the chain; only the options written here are compared."""

    body: Text | None = option("Body.", default=None)
    attributes: dict[str, Text | None] | None = option(
        "Its attributes; null for one that must not exist.", default=None
    )
    host: str | None = option("Host.", default=None)
    priority: _PriorityName | None = option("Priority.", default=None)
    timestamp_ms: int | None = option("Event time.", default=None)
    nanos: int | None = option("Nanos.", default=None)


class Expect(Model):
    """The expected result; options left out are not compared."""

    kept: int | None = option(
        "Number of events that pass the chain and at least one sink.", default=None, ge=0, example=1
    )
    dropped: dict[str, int] | None = option(
        "Reason -> number of dropped events, including those dropped by `on_error`; `{}` for none.",
        default=None,
        example={"on_error": 1},
    )
    failed: int | None = option("Number of events that become dead letters or stop the pipeline.", default=None, ge=0)
    puts: list[ExpectedPut] | None = option("Puts, in the order of the events.", default=None)
    writes: list[dict[str, Any]] | None = option(
        "What sinks without a store write, in the order of the events, as `attr2hbase explain --output json` shows it; "
        "only the names written here are compared.",
        default=None,
        example=[{"sink": "kafka", "topic": "ticks-clean", "record": {"key": "k1", "value": "56"}}],
    )
    events: list[ExpectedEvent] | None = option("Events after the chain, in order.", default=None)


class CaseOptions(Model):
    """A test of a pipeline: input events and the expected result."""

    name: str = option("What it shows.", example="one tick is one row", min_length=1)
    pipeline: str | None = option("Pipeline; may be left out if the file has only one.", default=None, example="ticks")
    given: list[Given] = option("Input events.", example=[{"body": "2238947398:56"}], min_length=1)
    expect: Expect = option("Expected result.", example={"kept": 1})
