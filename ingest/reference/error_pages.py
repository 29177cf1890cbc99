"""What every error code means, what happens when it occurs, and what to do about it."""

import inspect
from dataclasses import dataclass

from ingest import api
from ingest.api import Disposition, IngestError, NotFoundError
from ingest.api.files import ReferenceFileError
from ingest.config.problems import EXPLANATIONS
from ingest.plugins.guard import OutOfMemoryError
from ingest.reference.remedies import REMEDIES
from ingest.suggest import did_you_mean

_REACTIONS = {
    Disposition.RETRY: "Nothing is acknowledged: it is tried again, and the pipeline is blocked meanwhile.",
    Disposition.DIVERT: "The event can never pass as it is; `on_error` says whether it becomes a dead letter, is "
    "dropped, or stops the pipeline.",
    Disposition.STOP: "It ends what was asked for; nothing unfinished is acknowledged.",
}

_CODES: dict[str, tuple[type[IngestError] | Disposition, str]] = {
    "abandoned": (
        IngestError,
        "The service was stopped in the middle of a batch, which runs again after a restart.",
    ),
    "access_denied": (api.SourceError, "Kafka refuses the user, the password or the operation."),
    "attribute_exists": (
        api.DecorateError,
        "A decorator sets an attribute that has a value, under attributes: existing: error.",
    ),
    "bad_access_line": (api.DecorateError, "The text is no line of an access log in the decorator's format."),
    "bad_address": (api.DecorateError, "The text is no IP address, and the decorator says on_invalid: error."),
    "bad_avro": (
        api.DecodeError,
        "The value is no Avro of the decorator's schema, or no AvroFlumeEvent where that is said.",
    ),
    "bad_batch": (api.DecorateError, "The attributes batchSize and batchData hold no events that Flume has batched."),
    "bad_cef": (
        api.DecorateError,
        "The text is no CEF message: its header has not all seven fields, or its extension begins without a key.",
    ),
    "bad_csv": (
        api.DecorateError,
        "The text is not one line of CSV: a quote is not closed, or there are several lines.",
    ),
    "bad_database": (
        api.DecorateError,
        "A database of addresses could be opened, but is broken at the place of this one; put a good one there.",
    ),
    "bad_encoding": (
        api.ExpressionError,
        "A function, a decorator or a cell was given a value that is not in the encoding it names.",
    ),
    "bad_envelope": (
        api.DecodeError,
        'The value is JSON, but no object with "body" and "headers"; use format raw and the decorator json for others.',
    ),
    "bad_gzip": (api.DecorateError, "The attribute compressGzip holds no event that Flume has packed."),
    "bad_header": (api.DecodeError, "The header priority or nanos holds what it cannot hold."),
    "bad_header_line": (
        api.DecorateError,
        "A line that was to be a name, a colon and a value is none, and the decorator says on_bad_line: error.",
    ),
    "bad_input": (api.ConfigError, "A line of events given to a command is not an event."),
    "bad_json": (api.DecodeError, "A text that was to be JSON is not, or is no object or array where one is wanted."),
    "bad_leef": (
        api.DecorateError,
        "The text is no LEEF message of version 1 or 2, or something in it is no key with a value.",
    ),
    "bad_name": (
        api.DecorateError,
        "A name in an array that becomes JSON is not UTF-8, and JSON has no other names; see arrays of the decorator.",
    ),
    "bad_notation": (api.DecodeError, 'Bytes in JSON are a string, or {"b64": "…"} for what is not text.'),
    "bad_pairs": (
        api.DecorateError,
        "The text has no pair of key and value, or a part that is no pair, as a quote that is not closed.",
    ),
    "bad_plugin": (
        api.CatalogError,
        "A plugin's component breaks the rules for components, or cannot be created; the message says which and how.",
    ),
    "bad_protobuf": (
        api.DecorateError,
        "The value is no message of the decorator's type, or lacks the header it should have.",
    ),
    "bad_record": (IngestError, "A record cannot be sent to Kafka as it is."),
    "bad_syslog": (api.DecorateError, "The text is no syslog message of RFC 5424, nor of RFC 3164."),
    "bad_table_name": (api.MappingError, "The template of the table gives what no store takes as a name."),
    "bad_time": (
        api.EventError,
        "A text is no time in the form, or any of the forms, in which the decorator or function reads times.",
    ),
    "bad_timestamp": (
        api.MappingError,
        "The event's time cannot be the time of a cell: it is before 1970, or has no 64 bits.",
    ),
    "bad_url": (api.DecorateError, "The text is no URL: it has blanks or control characters in it, or no good port."),
    "bare_key": (api.DecorateError, "A key of the text has no value, and the decorator says on_bare: error."),
    "batch_slow": (
        Disposition.RETRY,
        "A decorator of the batch has been at work for two minutes: a worker or a disk stands still. It is waited for.",
    ),
    "split_start_failed": (
        IngestError,
        "A decorator failed, in a way it did not foresee, before the first event of a micro-batch; mend the decorator.",
    ),
    "dead_letters_too_large": (
        IngestError,
        "More than 64 MiB of dead letters in one micro-batch: mend the pipeline, or lower max_events_per_batch.",
    ),
    "decorator_timeout": (
        api.DecorateError,
        "A decorator did not come to an end for this event, most likely a pattern that backtracks or a loop.",
    ),
    "delete_at_zero": (api.MappingError, "A delete carries the time before the event's, and there is none before 0."),
    "disk_busy": (
        api.StoreUnavailableError,
        "The machine has no memory left for a file of the service, or somebody else holds it.",
    ),
    "disk_denied": (api.StoreUnavailableError, "A file or folder of the service may not be read or written by it."),
    "disk_failed": (
        api.IntegrityError,
        "A write to the disk failed, so its content is unknown; replace it, then start again.",
    ),
    "disk_full": (api.StoreUnavailableError, "There is no room left where the service keeps its state or its files."),
    "division_by_zero": (api.ExpressionError, "div or mod was given a zero."),
    "empty_row_key": (api.MappingError, "The template of the row key gave nothing."),
    "error_budget": (
        IngestError,
        "More records failed than error_budget allows; correct the cause before starting it again.",
    ),
    "families_changed": (
        api.StoreUnavailableError,
        "A table lost a family while a batch was written to it; the batch is checked again against what is there now.",
    ),
    "field_count": (api.DecorateError, "A line of CSV has more or fewer fields than the decorator has columns."),
    "group_in_use": (
        api.SourceError,
        "Other consumers read with the pipeline's group, so its offsets cannot be committed.",
    ),
    "import_failed": (api.CatalogError, "The code of a component or plugin cannot be imported."),
    "jars_fetch": (IngestError, "Maven could not fetch a jar; its settings say where from."),
    "jvm_lost": (IngestError, "The Java process of Spark has ended; unacknowledged batches run again after a restart."),
    "jvm_unresponsive": (
        Disposition.RETRY,
        "The Java process of Spark does not answer: it is stopped, starved, or out of memory. It is waited for.",
    ),
    "lease_lost": (
        api.ConflictError,
        "A lease was not renewed in time, or another process has taken it over; what it guards is the new owner's.",
    ),
    "name_taken": (api.CatalogError, "Two components, or two modules, have one name; the message names both."),
    "negative_number": (api.ExpressionError, "A negative number has no place in an inverted order."),
    "no_attribute": (api.DecorateError, "A decorator or a cell reads an attribute the event does not have."),
    "no_entry": (
        api.DecorateError,
        "The file of a decorator has no entry for the event, and the decorator says on_not_found: error.",
    ),
    "no_host": (api.DecorateError, "The event has no host, and the decorator says on_missing: error."),
    "no_match": (
        api.DecorateError,
        "The regular expression was not found, nor any other pattern of the decorator, whose on_no_match is error.",
    ),
    "no_parts": (api.DecorateError, "The text to explode has no parts, and the decorator says on_empty: error."),
    "no_row_key": (
        api.MappingError,
        "The event has no attribute for the row key; see on_missing_key of attr2hbase, on_missing in hbase's row_key.",
    ),
    "not_a_bool": (
        api.DecorateError,
        "The text, or what a tag of grok captured, is none of the words for true and false that the decorator knows.",
    ),
    "not_a_number": (
        api.ExpressionError,
        "An input of a function, decorator or cell, or a capture of grok, is not a number of the required type.",
    ),
    "not_updated": (
        api.ConfigError,
        "A test cannot be updated in the way its file is written; the file is as it was.",
    ),
    "null_value": (
        api.DecorateError,
        "A member of the JSON or Avro is null, and the decorator says on_null: error.",
    ),
    "number_too_large": (
        api.ExpressionError,
        "The result of a function, or a number of a decorator or cell, does not fit.",
    ),
    "os": (IngestError, "The operating system refused: the message says what and where."),
    "out_of_memory": (
        OutOfMemoryError,
        "A decorator or sink got no memory; the message names the event. Give workers more, or drop such events.",
    ),
    "package_missing": (api.CatalogError, "A component needs a package that is not installed."),
    "plugin_differs": (api.CatalogError, "A worker has another version of a plugin than the driver."),
    "plugin_missing": (api.CatalogError, "A worker lacks a plugin that the pipeline uses, or cannot import it."),
    "query_failed": (
        IngestError,
        "A micro-batch failed in Spark again and again, and not by the pipeline's own doing; the log has the reason.",
    ),
    "record_too_large": (
        IngestError,
        "A dead letter, or a record to produce, is larger than its topic takes: raise max.message.bytes of the topic.",
    ),
    "reference_file": (
        ReferenceFileError,
        "A file that a decorator looks things up in is gone or broken; put a good one in its place. No event is lost.",
    ),
    "replay_stopped": (IngestError, "A replay could not go on; what it did is marked, so run the same command again."),
    "row_key_too_long": (api.MappingError, "HBase keeps row keys of at most 32767 bytes."),
    "separator_in_key": (
        api.DecorateError,
        "A part of a row key has the separator in it, so the key could be taken for another one; see on_separator.",
    ),
    "sink_bug": (api.DecorateBugError, "A sink failed in a way it did not foresee; the log has its traceback once."),
    "sink_failed": (
        IngestError,
        "A plugin's sink failed in a way it did not foresee, and no event is the cause; the message names the sink.",
    ),
    "sink_timeout": (
        api.MappingError,
        "A sink's condition or mapping did not come to an end for this event, most likely a pattern that backtracks.",
    ),
    "source_bug": (
        api.DecorateBugError,
        "A record could not be decoded, in a way nobody foresaw; the log has its traceback once.",
    ),
    "stopped": (IngestError, "A task reports that the pipeline must stop."),
    "stopped_by_event": (
        IngestError,
        "An event failed where on_error says stop; nothing of its batch is acknowledged.",
    ),
    "store_bug": (api.StoreUnavailableError, "A store failed in a way it did not foresee; the batch is tried again."),
    "time_out_of_range": (api.ExpressionError, "The time is outside the calendar, which has the years 1 to 9999."),
    "timeouts": (
        IngestError,
        "More than 20 events of one partition and micro-batch took longer than 3 s in a decorator; mend the decorator.",
    ),
    "tombstone": (api.DecodeError, "The record has no value, and the source says tombstones: error."),
    "too_deep": (api.DecorateError, "The JSON, record or message is nested deeper than any event should be."),
    "too_large": (
        api.EventError,
        "An event is larger than max_event_bytes of its source, max_bytes of gunzip or max_size, or nested names are.",
    ),
    "too_many_columns": (api.MappingError, "The event has more cells than columns: max_per_row allows."),
    "too_many_open_files": (
        api.StoreUnavailableError,
        "The process has all the files open that it may have; it waits. Raise the limit: ulimit -n, LimitNOFILE=.",
    ),
    "too_many_parts": (
        api.DecorateError,
        "A text has more parts than max_events of explode, or the decorators make over 131,072 events of one record.",
    ),
    "topic_recreated": (
        api.PositionLostError,
        "A topic was deleted and recreated: the offsets in the checkpoint are those of other records.",
    ),
    "unknown_component": (api.CatalogError, "There is no decorator, sink, store or source of this name."),
    "unknown_family": (
        api.EventError,
        "The table has no such column family, and families: on_unknown does not have it made.",
    ),
    "unknown_table": (
        api.MappingError,
        "The event names a table that is not there, in a store that makes none. Make it, then replay the dead letter.",
    ),
    "unmatched_group": (
        api.DecorateError,
        "A group took no part in the match, and the decorator says on_unmatched: error.",
    ),
    "value_too_large": (api.MappingError, "A value is larger than columns: max_value_bytes allows."),
    "wrong_schema": (api.DecorateError, "The header of a value names another schema than the decorator has."),
}


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """
    What an error code means.

    Attributes:
        reaction: what happens when it occurs; "" for problems of a configuration.
        exit_code: of a command that ends with it; None where a command does not.
    """

    code: str
    meaning: str
    reaction: str = ""
    exit_code: int | None = None
    disposition: Disposition | None = None

    @property
    def remedy(self) -> str:
        """What to do."""
        return REMEDIES[self.code]


def error_pages() -> list[ErrorPage]:
    """A page for every code, sorted."""
    pages = {kind.value: ErrorPage(kind.value, text, exit_code=2) for kind, text in EXPLANATIONS.items()}
    for error in _classes(IngestError):
        pages[error.code] = _page(error.code, error, (inspect.getdoc(error) or "").partition("\n")[0])
    for code, (raised, meaning) in _CODES.items():
        pages[code] = _page(code, raised, meaning)
    return [pages[code] for code in sorted(pages)]


def errors_page() -> str:
    """All of them as the page of the reference."""
    kinds = [
        f"| `{kind.value}` | {_cell(text)} | {_cell(REMEDIES[kind.value])} |" for kind, text in EXPLANATIONS.items()
    ]
    errors = [
        f"| `{page.code}` | {page.disposition.value} | {'' if page.exit_code is None else page.exit_code} | "
        f"{_cell(page.meaning)} | {_cell(page.remedy)} |"
        for page in error_pages()
        if page.disposition is not None
    ]
    return "\n".join(
        [
            "# Errors",
            "",
            "## Problems of a configuration",
            "",
            "Printed as `file:line:column: kind: message`; all at once, exit code 2.",
            "",
            "A warning does not keep a pipeline from running; `ingest validate --strict` counts it as an error.",
            "",
            "| kind | what it means | what to do |",
            "|---|---|---|",
            *kinds,
            "",
            "## While running",
            "",
            (
                "An event that fails with an error of disposition `divert` goes where `on_error` says; `retry` is "
                "tried again for as long as it takes; `stop` ends the pipeline."
            ),
            "",
            "| code | disposition | exit code | what it means | what to do |",
            "|---|---|---|---|---|",
            *errors,
            "",
        ]
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def error_page(code: str) -> ErrorPage:
    """
    The page of a code.

    Raises:
        NotFoundError: there is no such code.
    """
    pages = {page.code: page for page in error_pages()}
    if code not in pages:
        hint = did_you_mean(code, pages) or "'ingest describe error' lists them"
        raise NotFoundError(f'there is no error "{code}"', hint=hint)
    return pages[code]


def _page(code: str, error: type[IngestError] | Disposition, meaning: str) -> ErrorPage:
    if isinstance(error, Disposition):  # why a pipeline is blocked, and of no error
        return ErrorPage(code, meaning, _REACTIONS[error], None, error)
    exit_code = None if issubclass(error, api.EventError) else error.exit_code
    return ErrorPage(code, meaning, _REACTIONS[error.disposition], exit_code, error.disposition)


def _classes(error: type[IngestError]) -> list[type[IngestError]]:
    """The errors of the contract, whatever else is imported."""
    found = [error] if error.__module__ == IngestError.__module__ else []
    for child in error.__subclasses__():
        found += _classes(child)
    return found
