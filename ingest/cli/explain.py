"""`ingest explain`: what each step of a pipeline does to events."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.command import FileArgument, PipelineOption
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.config.cases import Given

_MAX_PAGES = 3  # named at the end, where no event was kept
_STYLES = {"kept": "green", "dropped": "yellow", "failed": "red"}


class Until(StrEnum):
    """Where to stop."""

    DECORATORS = "decorators"


def explain(
    out: Output,
    file: FileArgument,
    *,
    pipeline: PipelineOption = None,
    events: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Events, a JSON object a line; - is stdin. Left out: those of the pipeline's tests."
        ),
    ] = None,
    until: Annotated[Until | None, typer.Option(help="Stop before the sinks.")] = None,
) -> None:
    """
    Show what each step of a pipeline does to events, and the cells they become; nothing is read or written.

    There is a line for each sink that refuses an event, as each gets a dead letter of its own, and one for each that
    stores it. Of an event that is made into several, the steps before that stand with the first. Where on_error is
    stop, the events after the failed one are shown too.

    Example: ingest explain pipeline.yaml --events events.jsonl --output json
    """
    from ingest.build import plan_of
    from ingest.cli.loading import loaded, pipeline_of, tell_plugins
    from ingest.trial import Trial

    configuration, catalog = loaded(file)
    chosen = pipeline_of(configuration, pipeline)
    trial = Trial.of(plan_of(configuration, chosen, catalog), configuration.tables.values())
    given = _given(
        events, [event for case in configuration.tests if case.pipeline == chosen.name for event in case.given]
    )
    tell_plugins(out, configuration, catalog)
    outcomes: dict[str, int] = {}
    whys: dict[str, None] = {}
    stops = False
    before: Mapping[str, Any] = {}
    for output in trial.run(given, until_decorators=until is Until.DECORATORS):
        outcome = str(output.line["outcome"])
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        stops = stops or _stops(output.line)
        whys |= dict.fromkeys(_whys(output.line))
        if out.is_json:
            out.json(output.line)
        else:
            _show(out, output.line, before)
        before = output.line
    if not out.is_json:
        out.done(", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items()) or "no events")
    if "kept" in outcomes and not stops:
        out.next(f"ingest run --once {file}")
    elif not out.is_json:
        out.next(*_pages_of(whys) or [f"ingest validate {file}"])


def _whys(line: Mapping[str, Any]) -> list[str]:
    """Codes of what failed, or the reason of a drop."""
    return [line["reason"]] if line["reason"] else [str(error["code"]) for _, error in _failures(line)]


def _pages_of(codes: Iterable[str]) -> list[str]:
    """The commands that tell what codes mean; reasons that users give themselves have no page."""
    from ingest.cli.error_pages import error_pages

    known = {page.code for page in error_pages()}
    return [f"ingest describe error {code}" for code in codes if code in known][:_MAX_PAGES]


def _given(events: str | None, from_tests: Sequence[Mapping[str, object]]) -> "Iterable[Given | Mapping[str, object]]":
    from ingest.api import ConfigError
    from ingest.cli.lines import lines_of, shown
    from ingest.trial import inputs_of

    if events is not None:
        return inputs_of(lines_of(events), shown(events))
    if not from_tests:
        raise ConfigError(
            "there are no events to explain",
            hint="give a file of JSON lines with --events, or write tests for the pipeline",
        )
    return from_tests


def _show(out: Output, line: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    outcome, steps = line["outcome"], line["steps"]
    numbers = ".".join(str(step["part"]) for step in steps if "part" in step)
    if before.get("input") == line["input"]:  # made of the same event: what both went through stands there
        steps = [step for number, step in enumerate(steps) if steps[: number + 1] != before["steps"][: number + 1]]
    why = ", and stops the pipeline" if _stops(line) else f": {line['reason']}" if line["reason"] else ""
    part = f", part {numbers}" if numbers else ""
    out.parts((f"event {line['input']}{part} ", "bold"), (outcome + why, _STYLES[outcome]))
    width = max((len(_name(step)) for step in steps), default=0)
    for step in steps:
        for number, change in enumerate(_changes(step["changed"]) or [("no change", "dim")]):
            out.parts((f"  {_name(step) if number == 0 else '':<{width}}  ", "cyan"), change)
    for name, error in _failures(line):
        out.parts((f"  {name}: {error['code']}: ", "red"), (error["message"], ""))
    for put in line.get("puts", ()):
        out.parts((f"  {put['sink']}: {put['store']}/{put['table']} ", "cyan"), (f"row {_text(put['row'])}", "bold"))
        if "delete" in put:
            out.line(f"    delete {_text(put['delete'])}", "yellow")
        for family, qualifier, value in put["cells"]:
            out.parts((f"    {_text(family)}:{_text(qualifier)} = ", "dim"), (_text(value), ""))


def _stops(line: Mapping[str, Any]) -> bool:
    return bool(line["outcome"] == "failed" and line["reason"] == "stop")


def _failures(line: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """What failed and its error: every sink that refused the event, or else the one step before them."""
    refusals = [(refusal["sink"], refusal) for refusal in line.get("refusals", ())]
    error = line["error"]
    return refusals or ([] if error is None else [(error["decorator"] or "source", error)])


def _name(step: Mapping[str, Any]) -> str:
    return str(step["decorator"]) + (f" ({step['label']})" if step["label"] else "")


def _changes(changed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a step did, with a colour: to the event itself, to attributes it set, to those it removed."""
    fields = dict(changed)
    attributes = fields.pop("attributes", {})
    return [(f"{name} = {_text(value)}", "yellow") for name, value in fields.items()] + [
        (f"{name} removed", "red") if value is None else (f"{name} = {_text(value)}", "green")
        for name, value in attributes.items()
    ]


def _text(notation: object) -> str:
    from ingest.api.notation import from_notation
    from ingest.cli.readable import readable

    match notation:
        case {"family": name}:
            return f"family {_text(name)}"
        case {"column": name}:
            return f"column {_text(name)}"
        case str() | {"b64": _}:
            return readable(from_notation(notation))
        case _:
            return str(notation)
