"""`ingest validate`: all that is wrong with a pipeline file."""

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
            "--connect", help="Also ask stores and Kafka: are tables and topics there, those of dead letters too?"
        ),
    ] = False,
) -> None:
    """
    Check a pipeline file and show all its problems at once, each with its place and a suggestion.

    Steps that need something of the machine, such as a file, look whether it is there.

    Example: ingest validate pipeline.yaml --connect
    """
    from ingest.api import ConfigError
    from ingest.build import live_chain, plan_of
    from ingest.cli.loading import loaded, tell_plugins, used_plugins

    try:
        configuration, catalog = loaded(file)
    except ConfigError as error:
        report = getattr(error, "report", None)
        if not out.is_json or report is None:
            raise
        out.json({"valid": False, "problems": report.to_json()})
        raise typer.Exit(error.exit_code) from error
    for pipeline in configuration.pipelines.values():
        live_chain(plan_of(configuration, pipeline, catalog)).begin()
    found = []
    if connect:
        from ingest.cli.connecting import answers

        found = list(answers(configuration, catalog))
    failures = [answer.error for answer in found if answer.error is not None]
    if out.is_json:
        about: dict[str, object] = {"connections": [_plain(answer) for answer in found]} if connect else {}
        of_plugins = used_plugins(configuration, catalog)
        about |= {"plugins": of_plugins} if of_plugins else {}
        out.json({"valid": not failures, "problems": configuration.report.to_json()} | about)
    else:
        out.problems(configuration.report)
        tell_plugins(out, configuration, catalog)
        for answer in found:
            _show(out, answer)
    if failures:
        raise typer.Exit(failures[0].exit_code)
    pipelines, tests = counted(len(configuration.pipelines), "pipeline"), counted(len(configuration.tests), "test")
    out.done(f"{file}: fine, {pipelines}, {tests}")
    out.next(f"ingest {'test' if configuration.tests else 'run --once'} {file}")


def _show(out: Output, answer: "Answer") -> None:
    if answer.error is None:
        out.parts(("fine     ", "green"), (f"{answer.what}: {answer.found}", ""))
    else:
        out.parts(("PROBLEM  ", "red"), (f"{answer.what} ({answer.where}): {answer.error.message}", ""))
    if answer.loss is not None:
        out.parts(("WARNING  ", "yellow"), (f"{answer.what} ({answer.where}): {answer.loss.message}", ""))
    advice = answer.error or answer.loss
    if advice is not None and advice.hint:
        out.line(f"         {advice.hint}", "dim")


def _plain(answer: "Answer") -> dict[str, object]:
    error, loss = answer.error, answer.loss
    about = None if error is None else {"code": error.code, "message": error.message, "hint": error.hint}
    warning = None if loss is None else loss._asdict()
    return {"where": answer.where, "what": answer.what, "found": answer.found, "error": about, "warning": warning}
