"""Options that do not belong to components: `service`, `spark`, `secrets` and the keys of a pipeline."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import (
    ByteSize,
    Duration,
    Model,
    OnError,
    Secret,
    option,
)
from ingest.config.http_tls import HttpTlsOptions
from ingest.config.spark_conf import checked
from ingest.expressions import zone_of
from ingest.formats.addresses import host_and_port, is_this_machine
from ingest.formats.time_of_day import PATTERN, seconds_of_day
from ingest.kafka.settings import KafkaTopic


def _share(value: object) -> float:
    if isinstance(value, str) and value.endswith("%"):
        try:
            share = float(value[:-1]) / 100
        except ValueError:
            share = -1.0
        if 0 <= share <= 1:
            return share
    raise PydanticCustomError("bad_unit", '"{value}" is not a percentage; write it as in "5%"', {"value": str(value)})


Share = Annotated[
    float, BeforeValidator(_share), WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?%$"})
]
"""A fraction between 0 and 1, written as `5%` in YAML."""


def _zone(value: str) -> str:
    try:
        zone_of(value)
    except ValueError as error:
        raise PydanticCustomError("not_one_of", "{problem}", {"problem": str(error)}) from error
    return value


Zone = Annotated[str, AfterValidator(_zone)]
"""A name of the IANA time zone database."""

_LOCAL = re.compile(r"local(?:\[(\*|[0-9]+)(?:,[0-9]+)?\])?")


class SecretsOptions(Model):
    """Where `${secret:NAME}` is read from; exactly one of the two."""

    directory: str | None = option(
        "Folder with one file for each secret.", default=None, example="/run/secrets", min_length=1
    )
    exec: list[str] | None = option(
        "Command that prints a secret to stdout; the secret's name is appended as its last argument.",
        default=None,
        example=["vault-read", "ingest"],
        min_length=1,
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> "SecretsOptions":
        if (self.directory is None) == (self.exec is None):
            raise PydanticCustomError("conflict", 'secrets need either "directory" or "exec"')
        return self


def is_token(text: str) -> bool:
    """
    Whether a text can be sent as the token in the header `Authorization`: printable ASCII, no blank at its ends.

    HTTP removes blanks at the ends of a header, and has no encoding for other characters.
    """
    return text.isascii() and text.isprintable() and text == text.strip()


class HttpOptions(Model):
    """The HTTP endpoint for metrics, health, status and commands."""

    listen: str = option("HOST:PORT to listen on.", default="127.0.0.1:9464")
    tls: HttpTlsOptions | None = option(
        "TLS; without it the endpoint speaks HTTP.",
        default=None,
        example={"certificate": "/etc/ingest/tls.crt", "key": "/etc/ingest/tls.key"},
    )
    insecure: bool = option("Allows an address that other machines can reach, without TLS.", default=False)
    token: Secret | None = option(
        "Token that commands such as pause need: printable ASCII characters, no blank at its ends. If left out, the "
        "service writes one to `state_dir`, or `local_dir`, readable only by its user, and the commands read it there.",
        default=None,
        example="${secret:ingest_token}",
        min_length=16,
    )

    @field_validator("token")
    @classmethod
    def _token_fits_in_a_header(cls, token: Secret | None) -> Secret | None:
        if token is not None and not is_token(token.get_secret_value()):
            raise PydanticCustomError(
                "wrong_type", "token must have printable ASCII characters only, and no blank at its start or end"
            )
        return token

    @field_validator("listen", mode="before", json_schema_input_type=str | int)
    @classmethod
    def _port_alone_as_text(cls, listen: object) -> object:
        return str(listen) if type(listen) is int else listen

    @model_validator(mode="after")
    def _is_protected(self) -> "HttpOptions":
        try:
            host, _ = host_and_port(self.listen)
        except ValueError:
            hint = 'write host:port, as in "127.0.0.1:9464" or "[::1]:9464"'
            raise PydanticCustomError(
                "wrong_type",
                '"{listen}" is not HOST:PORT',
                {"listen": self.listen, "option": "listen", "hint": hint},
            ) from None
        if self.tls is None and not self.insecure and not is_this_machine(host):
            raise PydanticCustomError(
                "conflict",
                '"{listen}" can be reached from other machines, and the endpoint has no TLS; '
                "add tls: {certificate: …, key: …}, or set insecure: true if the network is trusted",
                {"listen": self.listen, "option": "listen"},
            )
        return self


class LogOptions(Model):
    """The log, written to stderr."""

    level: Literal["debug", "info", "warning", "error"] = option("Lowest level that is written.", default="info")
    format: Literal["json", "console"] = option("Format of a line.", default="json")


class JobOptions(Model):
    """Background jobs that the service runs beside its pipelines, one at a time, such as a replay."""

    tasks: int = option(
        "Maximum number of Spark tasks of a job that run at a time; at least one task slot remains for the pipelines.",
        default=1,
        ge=1,
    )


class ServiceOptions(Model):
    """The process that runs the pipelines."""

    http: HttpOptions = option(
        "HTTP endpoint for metrics, health, status and commands.", default={}, example={"listen": "127.0.0.1:9464"}
    )
    log: LogOptions = option("The log.", default={}, example={"level": "debug"})
    stop_timeout: Duration = option("How long running micro-batches may take to finish after SIGTERM.", default="30s")
    jobs: JobOptions = option("Background jobs beside the pipelines.", default={}, example={"tasks": 2})


_KEEP = "After a dump, complete dumps older than this are removed, except the newest one and those that are pinned."


class SharedDumpOptions(Model):
    """The options of the section `dump` that each dump has, too."""

    tables: list[str] = option(
        "Tables to dump; if left out, all that the file declares.", default=[], example=["logs", "users"]
    )
    keep: Duration | None = option(_KEEP, default=None, gt=0)
    format: Literal["gzip", "zstd", "parquet"] = option(
        "Format of the files: lines of JSON, compressed with gzip or Zstandard, or Parquet.", default="gzip"
    )
    columns: dict[str, dict[str, str]] = option(
        "Of `format: parquet`: table -> name of a column in the file -> `FAMILY:QUALIFIER TYPE`, with a type `utf8`, "
        "`bool8`, `int8`, `int16`, `int32`, `int64`, `float32`, `float64` or `json`. Other tables have all cells. A "
        "table with declared columns cannot be loaded from the dump into a store.",
        default={},
        example={"logs": {"status": "web:status int32"}},
    )
    blobs: bool = option(
        "Of tables with a blob store, dump large values in place of the pointers to their blobs. Name the `tables`, "
        "since by default the tables of the blob store are dumped too.",
        default=False,
    )
    max_rate: int | None = option(
        "Maximum average of rows per second that a dump reads, of all tasks together; no limit if left out.",
        default=None,
        example=20_000,
        ge=1,
    )

    @field_validator("tables")
    @classmethod
    def _tables_differ(cls, tables: list[str]) -> list[str]:
        for table in tables:
            if tables.count(table) > 1:
                raise PydanticCustomError("conflict", 'table "{table}" is listed twice', {"table": table})
        return tables

    @model_validator(mode="after")
    def _columns_are_of_parquet(self) -> Self:
        if self.columns and self.format != "parquet":
            raise PydanticCustomError(
                "conflict", "columns need `format: parquet`: lines of JSON have all cells", {"option": "columns"}
            )
        return self


class DumpOptions(SharedDumpOptions):
    """Dumps of tables, which `attr2hbase dump run` makes, and the service once a day."""

    root: str = option(
        "Folder of the dumps: a path of this machine, or a URL such as `hdfs://NAMENODE:PORT/FOLDER` or "
        "`s3://BUCKET/FOLDER`. A relative path starts at the current folder of the process.",
        example="./dumps",
        min_length=1,
    )
    at: str | None = option(
        "Time of day, in UTC, at which the service starts a dump, as a job. If left out, it starts none by itself.",
        default=None,
        example="02:00",
        pattern=PATTERN,
    )
    keep: Duration = option(_KEEP, default="7d", gt=0)

    @property
    def at_s(self) -> int | None:
        """Seconds from midnight to the start of the daily dump; None without one."""
        return seconds_of_day(self.at)


class SparkOptions(Model):
    """Settings of Spark."""

    master: str | None = option(
        "Spark master; `local[*,4]` unless spark-submit sets it.", default=None, example="local[2,4]", min_length=1
    )
    driver_memory: ByteSize | None = option(
        "Heap of the driver's JVM; Spark's default if left out.", default=None, example="1GiB", ge=1
    )
    conf: Annotated[dict[str, str], AfterValidator(checked)] = option(
        "Spark properties.", default={}, example={"spark.locality.wait": "0s"}
    )

    @property
    def local_slots(self) -> int | None:
        """The number of task slots of a local master; None if it depends on the machine, or for a cluster."""
        match = _LOCAL.fullmatch(self.master or "")
        if match is None or match[1] == "*":
            return None
        return 1 if match[1] is None else int(match[1])


class ErrorBudgetOptions(Model):
    """
    How many records may fail before the pipeline stops.

    A record that was split into several events counts by the fraction that failed.
    """

    share: Share = option("Percentage of the records in the window that may fail.", default="5%")
    min_events: int = option("Minimum number of records before the budget applies.", default=1000, ge=1)
    window: Duration = option("Length of the sliding window.", default="5m", gt=0)


class AttributesOptions(Model):
    """How attributes are set."""

    existing: Literal["replace", "error"] = option(
        "When a decorator sets an attribute that exists: replace it, or fail the event as Flume does.",
        default="replace",
    )


class TriggerOptions(Model):
    """When micro-batches start."""

    every: Duration = option("Interval between their starts; `0s` starts the next one immediately.", default="0s")


class ReplayOptions(Model):
    """Which durable micro-batches `attr2hbase replay` can run again; only for the source `kafka`."""

    keep: Duration = option(
        "How long the times and offsets of durable micro-batches are kept at least.", default="7d", gt=0
    )


class PipelineOptions(Model):
    """The options of a pipeline besides its components."""

    on_error: OnError = option(
        "Failure action for events: dead_letter, drop or stop.", default="dead_letter", strict=False
    )
    error_budget: ErrorBudgetOptions = option("When failures stop the pipeline.", default={}, example={"share": "5%"})
    timezone: Zone = option("Time zone of times that have none, and of time functions.", default="UTC")
    attributes: AttributesOptions = option("How attributes are set.", default={}, example={"existing": "error"})
    trigger: TriggerOptions = option("When micro-batches start.", default={}, example={"every": "1s"})
    max_rate: int | None = option(
        "Maximum average of records per second that the pipeline reads; no limit if left out.",
        default=None,
        example=5000,
        ge=1,
    )
    replay: ReplayOptions = option("Which durable micro-batches can be replayed.", default={}, example={"keep": "30d"})
    description: str = option("For people.", default="", example="access logs of the web tier")


class DeadLetterFiles(Model):
    """Dead letters as files under `state_dir`."""


class DeadLetterTopic(KafkaTopic):
    """Dead letters in a Kafka topic; options that are left out are those of the pipeline's source."""

    envelope: Literal["json", "headers"] = option(
        "`headers` keeps key, value and headers of the record, with the error in further headers, named as in Kafka "
        "Connect.",
        default="json",
        example="headers",
    )


DEAD_LETTERS: dict[str, type[Model]] = {"files": DeadLetterFiles, "kafka": DeadLetterTopic}
