"""`attr2hbase explain`: what each decorator of a pipeline does to events."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from ingest.api import ConfigError
from ingest.cli.command import BytesOption, FileArgument, PipelineOption
from ingest.cli.given import AtOption, LinesOption, TopicOption, given_by, own_events, refuse_stdin_twice
from ingest.cli.loading import loaded, pipeline_of, print_plugins, to_run
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.shown_writes import put_lines, text_of, write_lines
from ingest.config.test_cases import Given
from ingest.dry_run import DryRun, InputLines
from ingest.dry_run.shown import with_types
from ingest.plan.assemble import plan_of
from ingest.reference.error_pages import error_pages

_MAX_PAGES = 3  # suggested at the end if no event was kept
_STYLES = {"kept": "green", "dropped": "yellow", "failed": "red"}


class Until(StrEnum):
    """Where to stop."""

    DECORATORS = "decorators"


def explain(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    pipeline: PipelineOption = None,
    events: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Events, one JSON object per line; - is stdin. Default: events of the pipeline's tests, else "
            "the first lines of the source's files.",
        ),
    ] = None,
    lines: LinesOption = None,
    topic: TopicOption = None,
    at: AtOption = None,
    until: Annotated[Until | None, typer.Option(help="Stop before the sinks.")] = None,
    raw: BytesOption = False,
) -> None:
    """
    Show what each decorator of a pipeline does to events, and the resulting cells; nothing is read or written.

    Each sink that rejects an event and each that stores it has a line; `archive` with the partition and the row. The
    timestamp of an event in the input stands for the batch time, to which `late` and `early` refer. If a decorator
    creates several events from one, the decorators before it are shown with the first. With on_error: stop, events
    after a failed one are shown too.

    Example: attr2hbase explain --lines access.log

    Example: attr2hbase explain --topic 5 --at 2026-01-31T12:00Z
    """
    refuse_stdin_twice({"the pipeline file": file, "--events": events, "--lines": lines})
    configuration, catalog = loaded(out, file)
    chosen = pipeline_of(configuration, pipeline)
    plan, tables = plan_of(configuration, chosen, catalog), configuration.tables.values()
    dry_run = DryRun(plan, tables, asks_registry=topic is not None)
    read = given_by(chosen, events, lines, topic, at)
    given = _not_empty(own_events(configuration, chosen)[0]) if read is None else read
    print_plugins(out, configuration, catalog)
    outcomes: dict[str, int] = {}
    reasons: dict[str, None] = {}
    before: Mapping[str, Any] = {}
    for output in dry_run.run(given, until_decorators=until is Until.DECORATORS):
        outcome = str(output.line["outcome"])
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        reasons |= dict.fromkeys(_reasons(output.line))
        line = output.line if raw else with_types(output.line, configuration.column_types)
        out.plain(line)
        _show(out, line, before)
        before = line
    out.done(", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items()) or "no events")
    if "kept" in outcomes and "failed" not in outcomes:
        is_letter = isinstance(read, InputLines) and read.dead_letters
        out.next(command_line(file, "dead-letters replay") if is_letter else to_run(file, configuration))
    elif not out.is_json:
        out.next(*_pages_of(reasons) or [command_line(file, "validate")])


def _reasons(line: Mapping[str, Any]) -> list[str]:
    """Codes of the failures, or the reason of a drop."""
    return [line["reason"]] if line["reason"] else [str(error["code"]) for _, error in _failures(line)]


def _pages_of(codes: Iterable[str]) -> list[str]:
    """The commands that explain codes; drop reasons from the user's file have no page."""
    known = {page.code for page in error_pages()}
    return [f"attr2hbase describe error {code}" for code in codes if code in known][:_MAX_PAGES]


def _not_empty(given: Sequence[Given]) -> Sequence[Given]:
    if given:
        return given
    raise ConfigError(
        "there are no events to explain",
        hint="give a raw log with --lines, JSON lines with --events, records of the topic with --topic N, or write "
        "tests for the pipeline",
    )


def _show(out: Output, line: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    outcome, steps = line["outcome"], line["steps"]
    numbers = ".".join(str(step["part"]) for step in steps if "part" in step)
    if before.get("input") == line["input"]:  # decorators before the fan-out were shown already
        steps = [step for number, step in enumerate(steps) if steps[: number + 1] != before["steps"][: number + 1]]
    why = ", and stops the pipeline" if _stops(line) else f": {line['reason']}" if line["reason"] else ""
    part = f", part {numbers}" if numbers else ""
    out.parts((f"event {line['input']}{part} ", "bold"), (outcome + why, _STYLES[outcome]))
    width = max((len(_name(step)) for step in steps), default=0)
    for step in steps:
        for number, change in enumerate(_changes(step) or [("no change", "dim")]):
            out.parts((f"  {_name(step) if number == 0 else '':<{width}}  ", "cyan"), change)
    for name, error in _failures(line):
        out.parts((f"  {name}: {error['code']}: ", "red"), (error["message"], ""))
    for put in line.get("puts", ()):
        for parts in put_lines(put):
            out.parts(*parts)
    for write in line.get("writes", ()):
        for parts in write_lines(write):
            out.parts(*parts)


def _stops(line: Mapping[str, Any]) -> bool:
    return bool(line["outcome"] == "failed" and line["reason"] == "stop")


def _failures(line: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Component and error: each sink that rejected the event, else the decorator that failed."""
    refusals = [(refusal["sink"], refusal) for refusal in line.get("refusals", ())]
    error = line["error"]
    return refusals or ([] if error is None else [(error["decorator"] or "source", error)])


def _name(step: Mapping[str, Any]) -> str:
    return str(step["decorator"]) + (f" ({step['label']})" if step["label"] else "")


def _changes(step: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What one decorator did, with a colour: dropped the event, or set fields, set attributes, removed attributes."""
    if "dropped" in step:
        return [(f"dropped: {step['dropped']}", "yellow")]
    fields = dict(step["changed"])
    attributes = fields.pop("attributes", {})
    return [(f"{name} = {text_of(value)}", "yellow") for name, value in fields.items()] + [
        (f"{name} removed", "red") if value is None else (f"{name} = {text_of(value)}", "green")
        for name, value in attributes.items()
    ]
