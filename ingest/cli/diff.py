"""`attr2hbase diff`: what a change of a pipeline file does to events and rows."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.amounts import counted
from ingest.cli.command import BytesOption, PipelineOption
from ingest.cli.given import AtOption, LinesOption, TopicOption, given_by, own_events, refuse_stdin_twice, repeatable
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration
    from ingest.config.test_cases import Given
    from ingest.dry_run.diff import Diff
    from ingest.dry_run.source_records import Sample

DIFFERS = 1
"""Exit code if anything differs."""
FAILED = 6
"""Exit code of errors that have 1 in other commands: a build must not take them for a difference."""
LIMIT = 10
"""Rows of a table, and events of a kind, that are shown as text."""


def diff(  # noqa: PLR0913 - the options of the command
    out: Output,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The pipeline file before the change; - is stdin.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The pipeline file after the change; - is stdin.")],
    *,
    pipeline: PipelineOption = None,
    topic: TopicOption = None,
    at: AtOption = None,
    events: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Events, one JSON object per line; - is stdin. Default: events of the tests in NEW, else the first "
            "lines of the source's files.",
        ),
    ] = None,
    lines: LinesOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Rows of a table and events of a kind that are shown; by default {LIMIT}, and with JSON all.",
        ),
    ] = None,
    raw: BytesOption = False,
) -> None:
    """
    Show what a change of a pipeline file does to events: run them through OLD and NEW, and compare the results.

    Shown are events that are newly kept, dropped or failed, by decorator and sink, and rows and cells that only one of
    the two writes, or both differently; tables are not read. Pipelines without a change are not run. Exit code 1 if
    anything differs, and 6 if the comparison fails. Both files are read in this environment; a topic is read without a
    consumer group.

    Example: attr2hbase diff before.yaml pipeline.yaml --topic 1000

    Example: attr2hbase diff before.yaml pipeline.yaml --events events.jsonl --output json
    """
    out.failure_code = FAILED
    refuse_stdin_twice({"OLD": old, "NEW": new, "--events": events, "--lines": lines})
    from ingest.cli.loading import both_loaded
    from ingest.config.changes import changed_options
    from ingest.dry_run.source_records import SAMPLE_BYTES

    (before, old_catalog), (after, new_catalog) = both_loaded(out, old, new)
    content = repeatable(events or lines)
    compared = []
    for name in _names(before, after, pipeline):
        change = _change(before, after, name)
        found: dict[str, Any] = {"pipeline": name, "change": change}
        if change == "changed":
            sample, events_of = _given(after, name, events=events, lines=lines, topic=topic, at=at, content=content)
            if sample.is_cut:
                _note_cut(out, name, len(sample.given), topic)
            asks = topic is not None
            result = _compared((before, old_catalog), (after, new_catalog), name, tuple(sample.given), asks=asks)
            found["events_of"] = events_of
            found["limit_bytes"] = SAMPLE_BYTES if sample.is_cut else None
            found["options"] = [each.to_json() for each in changed_options(name, before, after)]
            found |= _plain(out, result, before, after, limit=limit, is_raw=raw)
        compared.append(found)
        _show(out, found)
    differing = [each for each in compared if each.get("differs", each["change"] != "unchanged")]
    if differing:
        names = ", ".join(each["pipeline"] for each in differing)
        if not out.is_json:
            out.note(f"{counted(len(differing), 'pipeline')} with differences: {names}", "yellow")
        out.next(command_line(new, "explain"))
        raise typer.Exit(DIFFERS)
    ran = sum(each.get("events", 0) for each in compared)
    out.done(f"no differences in {counted(ran, 'event')}" if ran else "no pipeline has changed")


def _names(before: "Configuration", after: "Configuration", pipeline: str | None) -> list[str]:
    """The pipelines that are compared."""
    from ingest.config.model import no_pipeline

    names = list(dict.fromkeys((*after.pipelines, *before.pipelines)))
    if pipeline is None:
        return names
    if pipeline not in names:
        raise no_pipeline(pipeline, names)
    return [pipeline]


def _change(before: "Configuration", after: "Configuration", name: str) -> str:
    from ingest.config.changes import is_changed

    if name not in before.pipelines:
        return "added"
    if name not in after.pipelines:
        return "removed"
    return "changed" if is_changed(name, before, after) else "unchanged"


def _given(
    configuration: "Configuration",
    pipeline: str,
    *,
    events: str | None,
    lines: str | None,
    topic: int | None,
    at: str | None,
    content: bytes | None,
) -> "tuple[Sample, str]":
    """
    The events for both versions of a pipeline, at least one; those of topics have at most `SAMPLE_BYTES`. And what they
    are, in words.

    Raises:
        NotFoundError: there are none.
    """
    from ingest.api import NotFoundError
    from ingest.dry_run.source_records import SAMPLE_BYTES, Sample, within

    chosen = configuration.pipelines[pipeline]
    read = given_by(chosen, events, lines, topic, at, content=content)
    if read is None:
        own, events_of = own_events(configuration, chosen)
        sample = Sample(own, is_cut=False)
    elif topic is None:
        sample, events_of = Sample(list(read), is_cut=False), f"the {'events' if lines is None else 'lines'} of a file"
    else:
        sample = within(SAMPLE_BYTES, read)
        events_of = "the newest records of its topics" if at is None else f"the records of its topics from {at} on"
    if not sample.given:
        raise NotFoundError(
            f'there are no events to compare the versions of pipeline "{pipeline}" with',
            hint="give records of its topics with --topic N, JSON lines with --events, or a raw log with --lines",
        )
    return sample, events_of


def _note_cut(out: Output, pipeline: str, compared: int, wanted: int | None) -> None:
    from ingest.dry_run.source_records import SAMPLE_BYTES

    out.note(
        f"{pipeline}: {counted(compared, 'record')} of {wanted:,} are compared, as many as have {SAMPLE_BYTES >> 20} "
        "MiB; --topic with a smaller number compares records of all partitions",
        "yellow",
    )


def _compared(
    old: "tuple[Configuration, Catalog]",
    new: "tuple[Configuration, Catalog]",
    name: str,
    given: "tuple[Given, ...]",
    *,
    asks: bool,
) -> "Diff":
    from ingest.dry_run import DryRun
    from ingest.dry_run.diff import Diff, Results
    from ingest.dry_run.matching import new_names
    from ingest.plan.assemble import plan_of

    # each is planned just before it runs, with its own files of plugins
    (before, old_catalog), (after, new_catalog) = old, new
    new_plan = plan_of(after, after.pipelines[name], new_catalog)
    new_results = Results.of(DryRun(new_plan, after.tables.values(), asks_registry=asks).run(given))
    old_plan = plan_of(before, before.pipelines[name], old_catalog)
    old_outputs = DryRun(old_plan, before.tables.values(), asks_registry=asks).run(given)
    return Diff(given, Results.of(old_outputs, new_names(old_plan, new_plan)), new_results)


def _plain(
    out: Output, diff: "Diff", before: "Configuration", after: "Configuration", *, limit: int | None, is_raw: bool
) -> dict[str, Any]:
    from ingest.dry_run.diff import types_as_bytes

    types = [types_as_bytes if is_raw else each.column_types for each in (before, after)]
    return diff.to_json(limit or (None if out.is_json else LIMIT), *types)


def _show(out: Output, found: dict[str, Any]) -> None:
    from ingest.cli.shown_diff import show_diff

    out.plain(found)
    if found["change"] == "changed":
        show_diff(out, found, more="--limit N shows more")
    elif found["change"] != "unchanged":
        out.parts((f"{found['pipeline']} ", "bold"), (f"{found['change']}: it is in one of the files", ""))
