"""The commands of jobs, made of their classes: the service runs the job, or without a service this process does."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.by_service import OwnProcessOption, requested
from ingest.cli.command import FileArgument, TableArgument
from ingest.cli.confirmation import confirm_deletion
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration
    from ingest.service.jobs.command import Summary
    from ingest.service.jobs.step_job import StepJob


def command_of(word: str, module: str, name: str) -> Callable[..., None]:
    """
    The command of a kind of job, for `ingest.cli.command.register`.

    Args:
        word: name of the command.
        module: of the class.
        name: of the class, a `StepJob`.
    """
    job_class: type[StepJob[Any]] = getattr(import_module(module), name)
    about, fields = job_class.command, job_class.options_model.model_fields
    schemas = job_class.options_model.model_json_schema().get("properties", {})

    def command(
        out: Output,
        *,
        file: str,
        table: str,
        own_process: bool,
        dry_run: bool = False,
        yes: bool = False,
        **options: Any,
    ) -> None:
        from ingest.cli.loading import loaded, set_up_logs
        from ingest.durable import private_files
        from ingest.service.request import options_of

        configuration, catalog = loaded(out, file)
        set_up_logs(configuration, is_watched=True)
        given = {fields[each].alias or each: value for each, value in options.items() if value is not None}
        job = job_class(table, options_of(job_class.options_model, given, naming=_option))
        job.checked(configuration)
        with private_files():
            if about.asks is not None and not dry_run and not yes:
                planned = _in_this_process(out, job, configuration, catalog, is_dry_run=True)
                if (question := about.asks(planned)) is not None:
                    confirm_deletion(question)
            found = None if dry_run or own_process else _in_service(out, job, configuration, given)
            if found is None:
                found = _in_this_process(out, job, configuration, catalog, is_dry_run=dry_run)
        summary = job.summary(found, is_dry_run=dry_run)
        _show(out, job, summary, is_dry_run=dry_run)
        if dry_run and summary.would_change:
            out.next(f"ingest {word} {file} {table}")
        if summary.exit_code:
            raise typer.Exit(summary.exit_code)

    parameters = [
        inspect.Parameter("out", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Output),
        inspect.Parameter("file", inspect.Parameter.KEYWORD_ONLY, annotation=FileArgument),
        inspect.Parameter("table", inspect.Parameter.KEYWORD_ONLY, annotation=TableArgument),
        *(_parameter(each, field, schemas[field.alias or each]) for each, field in fields.items()),
        _flag("own_process", OwnProcessOption),
    ]
    if about.dry_run:
        parameters.append(_flag("dry_run", Annotated[bool, typer.Option("--dry-run", help=about.dry_run)]))
    if about.asks is not None:
        parameters.append(_flag("yes", Annotated[bool, typer.Option("--yes", help="Delete without asking.")]))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # inspect's own way to declare it
    command.__doc__ = inspect.cleandoc(about.help)
    return command


def _parameter(name: str, field: Any, schema: Mapping[str, Any]) -> inspect.Parameter:
    """The parameter of an option; its value is text, which the model of the options reads."""
    option = _option(field.alias or name)
    help_text = str(field.description)
    if field.annotation is bool:
        return _flag(name, Annotated[bool, typer.Option(option, help=help_text)])
    if not field.is_required():
        help_text = f"{help_text.removesuffix('.')}; {field.default} by default."
    metavar = "TIME" if schema.get("format") == "date-time" else "DURATION"
    about = typer.Option(option, metavar=metavar, help=help_text)
    if field.is_required():
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[str, about])
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, about]
    )


def _flag(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _in_service(
    out: Output, job: "StepJob[Any]", configuration: "Configuration", given: dict[str, Any]
) -> dict[str, Any] | None:
    """The result of the running service; None, with a note, if no service runs."""
    about = job.command
    followed = requested(
        out,
        configuration,
        lambda client: client.submit(job.kind, {"table": job.subject, **given}),
        does=about.does,
        resumes=about.resumes,
    )
    if followed is None:
        return None
    label, number = about.advances
    with out.progress(label, total=None) as advance:
        return followed.follow(lambda content, _done, _total: advance(content[number]), out.state)


def _in_this_process(
    out: Output, job: "StepJob[Any]", configuration: "Configuration", catalog: "Catalog", *, is_dry_run: bool
) -> dict[str, Any]:
    """The result of a run in this process, with its details."""
    from ingest.service.jobs.place import OwnProcess

    label, number = job.command.advances
    content: dict[str, Any] = {}
    details: dict[str, list[Any]] = {}
    blocked = ""
    with out.progress(label, total=None) as advance, ExitStack() as opened:
        place = OwnProcess(configuration, catalog, opened, is_dry_run=is_dry_run)
        with closing(job.steps(place)) as steps:
            for progress in steps:
                content = dict(progress.result or {})
                advance(content[number])
                if progress.blocked not in ("", blocked):
                    out.note(progress.blocked, "yellow")
                blocked = progress.blocked
                for name, found in progress.details.items():
                    if out.is_json:
                        details.setdefault(name, []).extend(found)
                    elif name == job.command.prints:
                        for each in found:
                            out.line(each)
    return content | details


def _show(out: Output, job: "StepJob[Any]", summary: "Summary", *, is_dry_run: bool) -> None:
    if out.is_json:
        out.json({"table": job.subject, "dry_run": is_dry_run, **summary.plain})
        return
    if summary.cells:
        out.table([*summary.cells], [[*summary.cells.values()]])
    for note in summary.notes:
        out.note(note, "yellow")
    for line in summary.lines:
        out.line(line)
    if summary.done:
        out.done(summary.done)
