"""`attr2hbase dead-letters`: list and show dead letters."""

import itertools
from collections import Counter
from typing import Annotated

import orjson
import typer

from ingest.amounts import counted
from ingest.catalog import Catalog
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.dead_letter_queue import (
    CodesOption,
    ComponentsOption,
    SinceOption,
    UntilOption,
    counting,
    opened_queue,
    pipeline_words,
    selection_of,
)
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.queue import Entry
from ingest.dead_letters.selecting import filters, none_selected, unknown
from ingest.formats.times import moment
from ingest.plan.open_blobs import blob_store
from ingest.reference.readable import readable

AllOption = Annotated[
    bool, typer.Option("--all", help="Include those that a replay has stored or dropped, or that are kept.")
]


def list_(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    component: ComponentsOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    all_: AllOption = False,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of dead letters.")] = None,
) -> None:
    """
    List the dead letters, oldest micro-batch first. "explain --events" reads its JSON.

    Example: attr2hbase dead-letters list --code no_match --since 2026-01-31
    """
    selection = selection_of((), code, component, since, until, has_replayed=all_)
    seen, components = Counter[str](), Counter[str]()
    with opened_queue(out, file, pipeline, shows_records=True) as (configuration, _, queue):
        selected = filter(selection.matches, counting(queue.entries(), seen, components))
        entries = list(itertools.islice(selected, limit))
        has_more = limit is not None and next(selected, None) is not None
    if seen and not entries:
        advice = "" if all_ else "; --all also lists those that were replayed"
        out.note(none_selected(seen, filters(code, component, since=since, until=until), advice), "yellow")
        return
    for note in () if has_more else (*unknown("code", code, seen), *unknown("component", component, components)):
        out.note(note, "yellow")
    for entry in entries:
        out.plain(_plain(entry))
    if not entries:
        out.done("no dead letters")
        return
    header = ["position", "batch", "component", "code", "event", "message"]
    header += ["replay"] if any(entry.mark for entry in entries) else []
    out.table(header, [_row(entry)[: len(header)] for entry in entries])
    out.done(counted(len(entries), "dead letter") + (" shown; more exist" if has_more else ""))
    of_pipeline = pipeline_words(configuration, pipeline)
    following = [command_line(file, "dead-letters show", *of_pipeline, entries[0].position)]
    if any(entry.mark is None for entry in entries):  # what has failed again needs a correction first
        following.append(command_line(file, "dead-letters replay", *of_pipeline))
    out.next(*following)


def show(
    out: Output,
    file: FileOption,
    position: Annotated[str, typer.Argument(metavar="POSITION", help="As `attr2hbase dead-letters list` shows it.")],
    *,
    pipeline: PipelineOption = None,
    blob: Annotated[
        bool, typer.Option("--blob", help="Read a large value of the record from the blob store of its table.")
    ] = False,
) -> None:
    """
    Show one dead letter in full. Its JSON is the record alone, as "explain --events" reads it; "list" has more.

    Of a large value that is in a blob store, it shows the id; with --blob, the value.

    Example: attr2hbase dead-letters show 000001308748686-0000000003:0
    """
    with opened_queue(out, file, pipeline, shows_records=True) as (configuration, catalog, queue):
        entry = queue.read(position)
    dead_letter = _with_value(entry.dead_letter, configuration, catalog) if blob else entry.dead_letter
    of_pipeline = pipeline_words(configuration, pipeline)
    shown = [*of_pipeline, position]
    if out.is_json:
        out.json(_explainable(dead_letter))
        if dead_letter.blob is not None:
            whole = command_line(file, "dead-letters show", *shown, "--blob", "--output", "json")
            out.note(f"the value is in the blob store; '{whole}' has it, as 'attr2hbase explain' needs it", "yellow")
        return
    record = dead_letter.record
    span = dead_letter.by_place
    facts = [
        ("id", dead_letter.id),
        ("pipeline", dead_letter.pipeline),
        ("component", dead_letter.component),
        ("error", f"{dead_letter.code}: {dead_letter.message}"),
        ("batch", moment(dead_letter.batch_time_ms)),
        ("record", f"{record.topic}, partition {record.partition}, offset {record.offset}"),
        ("without bytes" if span is not None and span.was_read else "not read", _range(dead_letter)),
        ("events", _alike(dead_letter)),
        ("time", moment(record.timestamp_ms)),
        ("key", "" if record.key is None else readable(record.key)),
        *((f"header {name}", "" if value is None else readable(value)) for name, value in record.headers),
        ("value", _value(dead_letter)),
        *((f"attribute {name}", readable(value)) for name, value in dead_letter.attributes.items()),
        ("replay", _replayed(entry)),
    ]
    if dead_letter.pointer is not None:
        facts.append(("full dead letter", dead_letter.pointer))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        if value:
            out.parts((f"{name:<{width}}  ", "cyan"), (value, ""))
    kept = entry.dead_letter.blob
    if kept is not None:
        out.next(command_line(file, "blob get", kept.table, kept.id, "--to", "PATH"))
        shown.append("--blob")
    if span is None:
        explain = command_line(file, "explain", *of_pipeline, "--events", "-")
        out.next(f"{command_line(file, 'dead-letters show', *shown, '--output', 'json')} | {explain}")
    out.next(command_line(file, "dead-letters replay", *of_pipeline, position))


def _row(entry: Entry) -> tuple[str, ...]:

    dead_letter = entry.dead_letter
    event = f"{dead_letter.record.topic}/{dead_letter.record.partition}/{dead_letter.record.offset}"
    if dead_letter.events > 1:
        event += f" ({counted(dead_letter.events, 'event' if dead_letter.by_place is None else 'record')})"
    if dead_letter.blob is not None:
        event += f" ({dead_letter.blob.length:,} bytes, blob {dead_letter.blob.id})"
    if dead_letter.by_place is not None:
        event += f" {_up_to(dead_letter.by_place.end)}"
    return (
        entry.position,
        moment(dead_letter.batch_time_ms),
        dead_letter.component,
        dead_letter.code,
        event,
        dead_letter.message,
        _replayed(entry),
    )


def _alike(dead_letter: DeadLetter) -> str:
    """How many events or records the dead letter stands for, if it is not one."""
    if dead_letter.events == 1:
        return ""
    if dead_letter.by_place is not None:
        return counted(dead_letter.events, "record")
    return f"{dead_letter.events:,} failed alike; this is the first"


def _range(dead_letter: DeadLetter) -> str:
    """The records of a dead letter by place."""
    span = dead_letter.by_place
    return "" if span is None else f"from offset {dead_letter.record.offset:,} {_up_to(span.end)}"


def _up_to(end: int | None) -> str:
    """The end of the records of a dead letter by place."""
    return "to the end" if end is None else f"up to offset {end:,}"


def _value(dead_letter: DeadLetter) -> str:

    blob, value = dead_letter.blob, dead_letter.record.value
    if dead_letter.by_place is not None:
        return ""
    if blob is not None:
        return f'{counted(blob.length, "byte")}: blob {blob.id} of table "{blob.table}"'
    return "null" if value is None else readable(value)


def _with_value(dead_letter: DeadLetter, configuration: Configuration, catalog: Catalog) -> DeadLetter:
    """The dead letter with the value of its record, also if that is in a blob store."""
    blob = dead_letter.blob
    if blob is None:
        return dead_letter
    with (
        blob_store(configuration, catalog, blob.table) as blobs,
        blobs.open(bytes.fromhex(blob.id)) as reader,
    ):
        return dead_letter.with_value(reader.readall())


def _replayed(entry: Entry) -> str:
    if entry.mark is None:
        return ""
    words = entry.mark.outcome.value.replace("_", " ")
    return f"{words} ({entry.mark.code})" if entry.mark.code else words


def _plain(entry: Entry) -> dict[str, object]:

    mark = entry.mark
    about = None if mark is None else {"outcome": mark.outcome.value, "at_ms": mark.at_ms, "code": mark.code}
    envelope: dict[str, object] = orjson.loads(entry.dead_letter.to_json())
    return {"position": entry.position, "replay": about} | envelope


def _explainable(dead_letter: DeadLetter) -> dict[str, object]:
    """The record as an input of `explain`, which refuses one whose value is in a blob store or only in the source."""
    content = orjson.loads(dead_letter.to_json())
    return {name: content[name] for name in ("record", "blob", "unread") if name in content}
