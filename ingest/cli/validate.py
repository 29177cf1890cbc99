"""`attr2hbase validate`: the problems of a pipeline file."""

from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.config.problems import Report
    from ingest.doctor.connecting import Check


def validate(
    out: Output,
    file: FileArgument,
    *,
    connect: Annotated[
        bool,
        typer.Option(
            "--connect",
            help="Also connect to stores, sinks and Kafka: can they be written, do tables and topics exist?",
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 2 when there are warnings.")] = False,
) -> None:
    """
    Check a pipeline file and show all problems, each with its location and a hint.

    It also compares `max_event_bytes` with the memory of this machine, and warns of certificates, keys and keytabs that
    it cannot read here. Decorators that use a local resource, such as a file, check that it exists.

    Example: attr2hbase validate --connect --strict
    """
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded, print_plugins, to_run, used_plugins
    from ingest.plan.assemble import live_chain, plan_of

    try:
        configuration, catalog = loaded(out, file)
    except ConfigError as error:
        report = getattr(error, "report", None)
        if not out.is_json or report is None:
            raise
        out.json({"valid": False, "problems": report.to_json()})
        raise typer.Exit(error.exit_code) from error
    for pipeline in configuration.pipelines.values():
        live_chain(plan_of(configuration, pipeline, catalog)).split_start()
    found = []
    if connect:
        from ingest.doctor.connecting import checks

        found = list(checks(configuration, catalog))
    failures = [check.error for check in found if check.error is not None]
    report = _with_this_machine(configuration)
    warnings = len(report.warnings) + sum(check.caution is not None for check in found)
    is_refused = strict and warnings > 0
    if out.is_json:
        about: dict[str, object] = {"connections": [_plain(check) for check in found]} if connect else {}
        of_plugins = used_plugins(configuration, catalog)
        about |= {"plugins": of_plugins} if of_plugins else {}
        out.json({"valid": not failures and not is_refused, "problems": report.to_json()} | about)
    else:
        out.problems(report)
        print_plugins(out, configuration, catalog)
        for check in found:
            _show(out, check)
    if failures:
        raise typer.Exit(failures[0].exit_code)
    if is_refused:
        raise ConfigError(f"{counted(warnings, 'warning')} in {file}", hint="correct them, or omit --strict")
    pipelines, tests = counted(len(configuration.pipelines), "pipeline"), counted(len(configuration.tests), "test")
    summary = f"can run, {counted(warnings, 'warning')}" if warnings else "fine"
    out.done(f"{file}: {summary}, {pipelines}, {tests}")
    if configuration.tests:
        out.next(command_line(file, "test"))
    elif not any(check.caution is not None and check.caution.is_start_refused for check in found):
        out.next(to_run(file, configuration))


def _with_this_machine(configuration: "Configuration") -> "Report":
    """The warnings of the file, and those about this machine: its memory and its files."""
    import os
    from dataclasses import replace

    from ingest.doctor.pipelines import large_events, local_files
    from ingest.doctor.pipelines.machine import machine_memory

    report = configuration.report
    found = dict.fromkeys(
        [
            *report.problems,
            *large_events.warnings_of(configuration, machine_memory(), os.cpu_count() or 1),
            *local_files.warnings_of(configuration),
        ]
    )
    return replace(report, problems=tuple(sorted(found, key=lambda each: each.location)))


def _show(out: Output, check: "Check") -> None:
    if check.error is None:
        out.parts(("fine     ", "green"), (f"{check.what}: {check.found}", ""))
    else:
        out.parts(("PROBLEM  ", "red"), (f"{check.what} ({check.location}): {check.error.message}", ""))
    if check.caution is not None:
        out.parts(("WARNING  ", "yellow"), (f"{check.what} ({check.location}): {check.caution.message}", ""))
    advice = check.error or check.caution
    if advice is not None and advice.hint:
        out.line(f"         {advice.hint}", "dim")


def _plain(check: "Check") -> dict[str, object]:
    error, caution = check.error, check.caution
    about = None if error is None else {"code": error.code, "message": error.message, "hint": error.hint}
    warning = None if caution is None else {"message": caution.message, "hint": caution.hint}
    return {
        "where": check.location,
        "what": check.what,
        "found": check.found,
        "error": about,
        "warning": warning,
    }
