"""`attr2hbase doctor`: everything that a pipeline file names, and the memory settings of a region server."""

import time
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.amounts import counted
from ingest.cli.command import NamedFile
from ingest.cli.output import Output
from ingest.cli.pipeline_file import found_file, named_file

if TYPE_CHECKING:
    from ingest.doctor.examination import Finding, Outcome
    from ingest.doctor.hbase.gathering import Sources
    from ingest.doctor.hbase.inputs import Inputs

HBASE = "hbase"
_PANEL = "Options of `attr2hbase doctor hbase`"
_STYLES = {"info": "dim", "warning": "yellow", "error": "red", "critical": "red"}


class FailOn(StrEnum):
    """The lowest severity that makes the command exit with 1."""

    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


def doctor(  # noqa: PLR0913 - the options of the command
    out: Output,
    target: Annotated[
        str | None,
        typer.Argument(metavar="[FILE|hbase]", help="The pipeline file, as with -f; or hbase, for a region server."),
    ] = None,
    of_hbase: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="After hbase: the pipeline file that writes to it, if any.")
    ] = None,
    *,
    file: NamedFile = None,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with 1 from this severity on.")] = FailOn.WARNING,
    site: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="hbase-site.xml, or /conf of a running server.", rich_help_panel=_PANEL),
    ] = None,
    jmx: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="/jmx of a region server, as in http://HOST:16030/jmx; without --site also its /conf.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="/metrics of the running service, for its write rate.", rich_help_panel=_PANEL
        ),
    ] = None,
    interval: Annotated[
        str,
        typer.Option(metavar="DURATION", help="Between two samples of metrics; 0s for one.", rich_help_panel=_PANEL),
    ] = "60s",
    heap: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Heap of the region server, as in 16GiB.", rich_help_panel=_PANEL)
    ] = None,
    write_rate: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Bytes written to this server in a second.", rich_help_panel=_PANEL),
    ] = None,
    regions: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Regions of this server written at the same time.", rich_help_panel=_PANEL
        ),
    ] = None,
    families: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Families of a table.", rich_help_panel=_PANEL)
    ] = None,
    servers: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Region servers among which the regions of FILE and the rate of --metrics are divided.",
            rich_help_panel=_PANEL,
        ),
    ] = 1,
) -> None:
    """
    Check everything that a pipeline file names, or the memory settings of an HBase region server.

    With a pipeline file: names, ports, TLS, authentication, rights, versions, retention, sizes, disks and memory. With
    hbase: memstores, write-ahead log and flushes of a region server, from its hbase-site.xml, its live metrics, and
    the file that writes to it. Exit code 0 if nothing is above info, else 1.

    Example: attr2hbase doctor

    Example: attr2hbase doctor hbase --site hbase-site.xml --heap 16GiB --write-rate 50MiB --regions 50

    Example: attr2hbase doctor hbase pipeline.yaml --jmx http://rs1:16030/jmx --fail-on error
    """
    from ingest.api import ConfigError
    from ingest.doctor.examination import Severity, worst
    from ingest.doctor.hbase.gathering import Sources
    from ingest.suggest import did_you_mean

    about: dict[str, object] = {}
    sources = Sources(
        site=site,
        jmx=jmx,
        metrics=metrics,
        interval_s=_parsed("--interval", interval, "Duration"),
        heap=None if heap is None else _parsed("--heap", heap, "ByteSize"),
        write_rate=None if write_rate is None else _parsed("--write-rate", write_rate, "ByteSize"),
        regions=regions,
        families=families,
        servers=servers,
    )
    if target == HBASE:
        writing = named_file(of_hbase, file)
        if writing is None and sources in (Sources(), Sources(interval_s=sources.interval_s, servers=servers)):
            raise ConfigError(
                "attr2hbase doctor hbase needs a region server, or what is known about one",
                hint="give its address, as in 'attr2hbase doctor hbase --jmx http://HOST:16030/jmx'; or FILE, "
                "--site hbase-site.xml or --heap SIZE",
            )
        outcomes, about = _of_hbase(out, writing, sources)
    else:
        if of_hbase is not None or sources != Sources():
            raise ConfigError(
                "a second file and options such as --site are for a region server",
                hint=did_you_mean(target or "", [HBASE])
                or f"write 'attr2hbase doctor hbase {of_hbase or target or '-f FILE'} …'",
            )
        outcomes = _of_file(out, named_file(target, file) or found_file())
    if out.is_json:
        out.json(_plain(outcomes) | about)
    else:
        _show(out, outcomes)
    found = worst(outcomes)
    if found is not None and found.reaches(Severity(fail_on.value)):
        raise typer.Exit(1)


def _of_file(out: Output, file: str) -> "list[Outcome]":
    from ingest.cli.loading import loaded
    from ingest.doctor.examination import examine
    from ingest.doctor.pipelines.examinations import examinations

    configuration, catalog = loaded(out, file)
    return list(examine(examinations(configuration, catalog)))


def _of_hbase(out: Output, file: str | None, sources: "Sources") -> "tuple[list[Outcome], dict[str, object]]":
    """The outcomes, and the inputs for JSON."""
    from ingest.cli.loading import loaded
    from ingest.doctor.examination import examine
    from ingest.doctor.hbase.checks import examinations
    from ingest.doctor.hbase.gathering import gathered
    from ingest.doctor.hbase.pipelines import written

    def pause(seconds: float) -> None:
        if not out.is_json:
            out.note(f"the second sample follows in {seconds:g} s", "dim")
        time.sleep(seconds)

    pipelines = None if file is None else written(*loaded(out, file))
    inputs = gathered(sources, pipelines, pause=pause)
    if not out.is_json:
        for note in () if pipelines is None else pipelines.notes:
            out.note(note, "yellow")
        _show_inputs(out, inputs)
    return list(examine(examinations(inputs))), {"inputs": _plain_inputs(inputs)}


def _show_inputs(out: Output, inputs: "Inputs") -> None:
    from ingest.amounts import number, size

    rows = {"configuration": inputs.origins["configuration"]}
    values = {
        "heap": None if inputs.heap is None else size(inputs.heap),
        "write rate": None if inputs.write_rate is None else f"{size(inputs.write_rate)}/s",
        "regions": None if inputs.regions is None else number(inputs.regions),
        "families": None if inputs.families is None else number(inputs.families),
    }
    for name, value in values.items():
        if value is not None:
            rows[name] = f"{value} ({inputs.origins[name.replace(' ', '_')]})"
    for name, text in rows.items():
        out.parts((f"{name:<15}", "cyan"), (text, ""))


def _show(out: Output, outcomes: "list[Outcome]") -> None:
    from ingest.doctor.examination import Skipped

    has_subjects = any(outcome.subject for outcome in outcomes)
    header = ["check", *(["of"] if has_subjects else []), "result", "found", "set"]
    out.table(header, [_without(row, has_subjects) for outcome in outcomes for row in _rows(outcome)])
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    shown = set()
    for finding in findings:
        text = "; ".join(part for part in (finding.why, finding.hint) if part)
        if text and (finding.check, text) not in shown:
            shown.add((finding.check, text))
            out.parts((f"{finding.check}: ", _STYLES[finding.severity]), (text, ""), (f"  {finding.docs}", "dim"))
    _summarize(out, findings, sum(isinstance(outcome.result, Skipped) for outcome in outcomes))


def _rows(outcome: "Outcome") -> "Iterable[tuple[str, ...]]":
    """Check, subject, result, what was found, and the setting to change."""
    from ingest.doctor.examination import Skipped

    if isinstance(outcome.result, Skipped):
        yield outcome.check, outcome.subject, "skipped", outcome.result.reason, ""
        return
    if not outcome.findings:
        yield outcome.check, outcome.subject, "fine", outcome.result.text, ""
    for finding in outcome.findings:
        setting = f"{finding.property} = {finding.value}" if finding.property else ""
        yield outcome.check, outcome.subject, finding.severity.value, finding.message, setting


def _without(row: tuple[str, ...], has_subjects: bool) -> tuple[str, ...]:  # noqa: FBT001 - a private function
    return row if has_subjects else (row[0], *row[2:])


def _summarize(out: Output, findings: "list[Finding]", skipped: int) -> None:
    counts = {severity: sum(finding.severity == severity for finding in findings) for severity in _STYLES}
    plurals = {"info": "infos", "critical": "critical"}
    parts = [counted(count, name, plurals.get(name, "")) for name, count in reversed(counts.items()) if count]
    parts += [f"{counted(skipped, 'check')} skipped"] if skipped else []
    is_fine = not any(count for name, count in counts.items() if name != "info")
    text = ", ".join(parts) or "all checks passed"
    if is_fine:
        out.done(text)
    else:
        out.note(text, "red" if counts["error"] or counts["critical"] else "yellow")


def _plain(outcomes: "list[Outcome]") -> dict[str, object]:
    from dataclasses import asdict

    from ingest.doctor.examination import Found, Skipped

    return {
        "findings": [asdict(finding) for outcome in outcomes for finding in outcome.findings],
        "skipped": [
            {"check": outcome.check, "subject": outcome.subject, "reason": outcome.result.reason}
            for outcome in outcomes
            if isinstance(outcome.result, Skipped)
        ],
        "passed": [
            {"check": outcome.check, "subject": outcome.subject, "found": outcome.result.text}
            for outcome in outcomes
            if isinstance(outcome.result, Found) and not outcome.findings
        ],
    }


def _plain_inputs(inputs: "Inputs") -> dict[str, object]:
    values: dict[str, object] = {
        "heap": inputs.heap,
        "write_rate": inputs.write_rate,
        "regions": inputs.regions,
        "families": inputs.families,
    }
    return {
        "configuration": inputs.origins["configuration"],
        **{name: {"value": value, "from": inputs.origins.get(name)} for name, value in values.items()},
    }


def _parsed(name: str, text: str, unit: str) -> Any:
    """The value of an option that is written as in a pipeline file; `unit` is `ByteSize` or `Duration`."""
    from pydantic import TypeAdapter, ValidationError

    from ingest.api import ByteSize, ConfigError, Duration

    try:
        return TypeAdapter({"ByteSize": ByteSize, "Duration": Duration}[unit]).validate_python(text)
    except ValidationError as error:
        raise ConfigError(f"{name}: {error.errors()[0]['msg']}") from error
