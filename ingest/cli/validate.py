"""`ingest validate`: the problems of a pipeline file."""

from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.command import FileArgument
from ingest.cli.output import Output, counted

if TYPE_CHECKING:
    from ingest.cli.connecting import Answer


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
    Check a pipeline file and show all problems at once, each with its place and a hint.

    Decorators that need a resource of this machine, such as a file, check that it exists.

    Example: ingest validate pipeline.yaml --connect --strict
    """
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded, tell_plugins, used_plugins
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
        from ingest.cli.connecting import answers

        found = list(answers(configuration, catalog))
    failures = [answer.error for answer in found if answer.error is not None]
    warnings = len(configuration.report.warnings) + sum(answer.loss is not None for answer in found)
    is_refused = strict and warnings > 0
    if out.is_json:
        about: dict[str, object] = {"connections": [_plain(answer) for answer in found]} if connect else {}
        of_plugins = used_plugins(configuration, catalog)
        about |= {"plugins": of_plugins} if of_plugins else {}
        out.json({"valid": not failures and not is_refused, "problems": configuration.report.to_json()} | about)
    else:
        out.problems(configuration.report)
        tell_plugins(out, configuration, catalog)
        for answer in found:
            _show(out, answer)
    if failures:
        raise typer.Exit(failures[0].exit_code)
    if is_refused:
        raise ConfigError(f"{counted(warnings, 'warning')} in {file}", hint="correct them, or leave out --strict")
    pipelines, tests = counted(len(configuration.pipelines), "pipeline"), counted(len(configuration.tests), "test")
    verdict = f"can run, {counted(warnings, 'warning')}" if warnings else "fine"
    out.done(f"{file}: {verdict}, {pipelines}, {tests}")
    out.next(f"ingest {'test' if configuration.tests else 'run --once'} {file}")


def _show(out: Output, answer: "Answer") -> None:
    if answer.error is None:
        out.parts(("fine     ", "green"), (f"{answer.what}: {answer.found}", ""))
    else:
        out.parts(("PROBLEM  ", "red"), (f"{answer.what} ({answer.location}): {answer.error.message}", ""))
    if answer.loss is not None:
        out.parts(("WARNING  ", "yellow"), (f"{answer.what} ({answer.location}): {answer.loss.message}", ""))
    advice = answer.error or answer.loss
    if advice is not None and advice.hint:
        out.line(f"         {advice.hint}", "dim")


def _plain(answer: "Answer") -> dict[str, object]:
    error, loss = answer.error, answer.loss
    about = None if error is None else {"code": error.code, "message": error.message, "hint": error.hint}
    warning = None if loss is None else loss._asdict()
    return {"where": answer.location, "what": answer.what, "found": answer.found, "error": about, "warning": warning}
