"""The commands of jobs, made of their classes: the service runs the job, or without a service this process does."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ingest.cli import completion
from ingest.cli.command import FileOption, PipelineOption, TableArgument
from ingest.cli.confirmation import confirm_deletion
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration
    from ingest.service.jobs.command import JobCommand, Subject, Summary
    from ingest.service.jobs.job import Job

OwnProcessOption = Annotated[
    bool,
    typer.Option(
        "--own-process",
        help="Run in this process instead of in the running service, on all cores of `spark: {master}`. Not with a "
        "RocksDB store that the service has open.",
    ),
]
RootOption = Annotated[
    str | None,
    typer.Option(
        "--root",
        metavar="ROOT",
        help="Folder of the dumps: a path, or a URL such as hdfs://NAMENODE:PORT/FOLDER or s3://BUCKET/FOLDER; by "
        "default as in `dump` of the file.",
    ),
]
ToOption = Annotated[
    str, typer.Option("--to", metavar="STORE:TABLE", help="Store of FILE, and the table that is written there.")
]
_METAVARS = {"date-time": "TIME", "id": "ID", "path": "PATH", "position": "POSITION", "value": "VALUE"}
"""Format of text -> how the help page names it."""
_COMPLETIONS: Mapping[str, Callable[..., Any]] = {"code": completion.codes, "sink": completion.sinks}
"""Option -> what a shell completes."""


def function_of(words: str, job_class: "type[Job[Any]]") -> Callable[..., None]:
    """
    The function of the command of a kind of job, for `ingest.cli.command.command`.

    Args:
        words: of the command, with its group.
        job_class: the kind.
    """
    about, fields = job_class.command, job_class.options_model.model_fields
    schemas = job_class.options_model.model_json_schema().get("properties", {})

    def command(
        out: Output,
        *,
        file: str,
        subject: str | None,
        own_process: bool,
        dry_run: bool = False,
        yes: bool = False,
        **options: Any,
    ) -> None:
        from ingest.cli.loading import loaded, set_up_logs, with_pipeline
        from ingest.durable import private_files
        from ingest.service.jobs.command import Subject
        from ingest.service.request import options_of

        configuration, catalog = loaded(out, file)
        set_up_logs(configuration, is_watched=True)
        named = {fields[each].alias or each: value for each, value in options.items() if _is_given(value)}
        given = {each: _value(value, schemas[each]) for each, value in named.items()}
        options_given = options_of(job_class.options_model, given, naming=_option)
        job = job_class(_subject(out, job_class, subject, configuration), options_given)
        job.checked(configuration)
        of_subject = (
            [] if subject is None else [subject] if annotation is TableArgument else [f"--{about.subject}", subject]
        )
        again = command_line(file, words, *of_subject)
        with private_files():
            if about.asks is not None and not dry_run and not yes:
                planned = _in_this_process(out, job, configuration, catalog, again, is_dry_run=True)
                if (question := about.asks(planned)) is not None:
                    confirm_deletion(question)
            is_here = dry_run or own_process or job.is_of_this_process
            found = None if is_here else _in_service(out, job, configuration, given, again)
            if found is None:
                found = _in_this_process(out, job, configuration, catalog, again, is_dry_run=dry_run)
        summary = job.summary(found, is_dry_run=dry_run)
        _show(out, job, summary, is_dry_run=dry_run)
        if (following := summary.next) is not None:
            of_pipeline = with_pipeline(configuration, job.subject) if about.subject is Subject.PIPELINE else []
            read = file if following.is_about_file else None
            out.next(command_line(read, following.words, *of_pipeline, *following.arguments))
        if dry_run and summary.would_change:
            out.next(command_line(file, words, *of_subject, *_written(given, about.arguments)))
        if summary.exit_code:
            raise typer.Exit(summary.exit_code)

    annotation, default = _parameter_of(about.subject)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("out", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Output),
        inspect.Parameter("file", keyword, annotation=FileOption),
        inspect.Parameter("subject", keyword, annotation=annotation, default=default),
    ]
    for each, field in fields.items():
        schema = schemas[field.alias or each]
        if schema.get("type") != "object":  # such as the columns of a dump, which are in the file
            parameters.append(_parameter(each, field, schema, about))
    parameters.append(_flag("own_process", OwnProcessOption))
    if about.dry_run:
        parameters.append(_flag("dry_run", Annotated[bool, typer.Option("--dry-run", help=about.dry_run)]))
    if about.asks is not None:
        parameters.append(_flag("yes", Annotated[bool, typer.Option("--yes", help="Delete without asking.")]))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # inspect's own way to declare it
    command.__doc__ = inspect.cleandoc(about.help)
    return command


def _subject(out: Output, job_class: "type[Job[Any]]", given: str | None, configuration: "Configuration") -> str:
    """The subject of a job that a command names."""
    from ingest.cli.loading import note_missing_state, pipeline_of
    from ingest.service.jobs.command import Subject

    if job_class.command.subject is not Subject.PIPELINE:
        return job_class.subject_of(given, configuration)
    note_missing_state(out, configuration)
    return pipeline_of(configuration, given).name


def _parameter_of(subject: "Subject") -> tuple[Any, Any]:
    """The annotation and the default of the parameter of a subject."""
    from ingest.service.jobs.command import Subject

    match subject:
        case Subject.TABLE:
            return TableArgument, inspect.Parameter.empty
        case Subject.ROOT:
            return RootOption, None
        case Subject.TO:
            return ToOption, inspect.Parameter.empty
        case Subject.PIPELINE:
            return PipelineOption, None


def _parameter(name: str, field: Any, schema: Mapping[str, Any], about: "JobCommand") -> inspect.Parameter:
    """The parameter of an option; its value is a number or text, which the model of the options reads."""
    option = _option(field.alias or name)
    section, shared = about.section
    help_text = str(field.description)
    kind = _kind(schema)
    if name in about.arguments:
        is_one, word = kind["type"] != "array", name.upper()
        argument = typer.Argument(metavar=word if is_one else f"[{word}]...", help=help_text)
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if is_one else None,
            annotation=Annotated[str, argument] if is_one else Annotated[list[str] | None, argument],
        )
    if kind["type"] == "boolean":
        return _flag(name, Annotated[bool, typer.Option(option, help=help_text)])
    if kind["type"] == "array":
        is_one = "format" in kind["items"]  # it may have commas
        help_text += " Repeat it for several." if is_one else " Repeat it, or separate them with commas."
    if name in shared.model_fields:
        help_text += f" By default as in `{section}` of the file."
    elif not field.is_required() and field.default:
        help_text = f"{help_text.removesuffix('.')}; {field.default} by default."
    annotation, metavar = _annotation(name, kind)
    about_option = typer.Option(option, metavar=metavar, help=help_text, autocompletion=_COMPLETIONS.get(name))
    if field.is_required():
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[annotation, about_option])
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[annotation | None, about_option]
    )


def _annotation(name: str, schema: Mapping[str, Any]) -> tuple[Any, str | None]:
    """The type of the value of an option, and how the help page names the value; None for its choices."""
    if schema["type"] == "integer":
        return int, "N"
    if schema["type"] == "array":
        return list[str], name.removesuffix("s").upper()
    if "enum" in schema:
        return Literal[tuple(schema["enum"])], None
    return str, "DURATION" if "pattern" in schema else _METAVARS[schema["format"]]


def _flag(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)


def _is_given(value: object) -> bool:
    return value is not None and value is not False


def _kind(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an option that is given."""
    kind: Mapping[str, Any] = next(each for each in schema.get("anyOf", [schema]) if each["type"] != "null")
    return kind


def _value(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value of an option as a service reads it, which may run in another folder."""
    kind = _kind(schema)
    if kind["type"] == "array" and "format" not in kind["items"]:
        return [name for each in value for name in each.split(",") if name]
    is_path = kind.get("format") == "path" and value != "-" and "://" not in value
    is_path |= kind.get("format") == "position" and _is_file(value)
    return str(Path(value).absolute()) if is_path else value


def _is_file(position: str) -> bool:
    """Whether a position is the path of a file of offsets, and not a group whose name looks like one."""
    return not position.startswith("group:") and (Path(position).is_file() or position.endswith(".json"))


def _written(given: Mapping[str, Any], arguments: Sequence[str]) -> Iterator[str]:
    """Arguments and options as they are written in a command."""
    for name, value in sorted(given.items(), key=lambda each: each[0] not in arguments):
        for one in value if isinstance(value, list) else [value]:
            if name not in arguments:
                yield _option(name)
            if one is not True:
                yield str(one)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@contextmanager
def _progress(out: Output, job: "Job[Any]", again: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A progress bar; yields the function that shows the result so far, and says once how to resume the job."""
    about, is_said = job.command, False
    label, number = about.advances
    with out.progress(label, total=None) as advance:

        def show(content: Mapping[str, Any]) -> None:
            nonlocal is_said
            if not is_said and about.resumed_by is not None:
                out.note(f"if it is interrupted, resume it: {again} {about.resumed_by(content)}", "dim")
            for note in () if is_said else job.begun(content):
                out.note(note, "yellow")
            is_said = True
            advance(content[number], content.get(about.total) or None)

        yield show


@contextmanager
def _interruptible(about: "JobCommand") -> Iterator[None]:
    """Tell a user who presses Ctrl-C what the command leaves."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {about.resumes}") from None


def _in_service(
    out: Output, job: "Job[Any]", configuration: "Configuration", given: Mapping[str, Any], again: str
) -> dict[str, Any] | None:
    """The result of the running service; None, with a note, if no service runs."""
    from ingest.service.endpoint.client import NotRunningError, ServiceClient
    from ingest.service.jobs.client import FollowedJob
    from ingest.service.jobs.job_run import MAX_DETAILS

    about = job.command
    meant = job.fingerprints(configuration)
    request = {about.subject.value: job.subject, **given, **({"fingerprints": meant} if meant else {})}
    try:
        client = ServiceClient(configuration)
        submitted = client.submit(job.kind, request)
    except NotRunningError as error:
        out.note(f"{error.message}; the command {about.does} in its own process", "dim")
        return None
    out.note(f"the running service {about.does}", "dim")
    with _progress(out, job, again) as show:
        content = FollowedJob(client, submitted, about.resumes).follow(
            lambda content, _done, _total: show(content), out.state
        )
    kept = content.get(about.prints, ())
    if not out.is_json:
        _print_details(out, about, kept)
    if len(kept) == MAX_DETAILS:
        out.note(f"a service keeps the first {MAX_DETAILS:,}; with --own-process all are shown", "yellow")
    return content


def _print_details(out: Output, about: "JobCommand", found: Sequence[Any]) -> None:
    for each in found:
        out.line(about.shows(each))


def _in_this_process(
    out: Output,
    job: "Job[Any]",
    configuration: "Configuration",
    catalog: "Catalog",
    again: str,
    *,
    is_dry_run: bool,
) -> dict[str, Any]:
    """The result of a run in this process, with its details."""
    from ingest.service.jobs.place import OwnProcess

    content: dict[str, Any] = {}
    details: dict[str, list[Any]] = {}
    blocked = ""
    with _progress(out, job, again) as show, _interruptible(job.command), ExitStack() as opened:
        place = OwnProcess(configuration, catalog, opened, is_dry_run=is_dry_run)
        with closing(job.steps(place)) as steps:
            for progress in steps:
                content = dict(progress.result or {})
                show(content)
                if progress.blocked not in ("", blocked):
                    out.note(progress.blocked, "yellow")
                blocked = progress.blocked
                for name, found in progress.details.items():
                    if out.is_json:
                        details.setdefault(name, []).extend(found)
                    elif name == job.command.prints:
                        _print_details(out, job.command, found)
    return content | details


def _show(out: Output, job: "Job[Any]", summary: "Summary", *, is_dry_run: bool) -> None:
    if out.is_json:
        mode = {"dry_run": is_dry_run} if job.command.dry_run else {}
        out.json({job.command.subject.value: job.subject, **mode, **summary.plain})
        return
    if summary.table:
        out.table([*summary.table[0]], [[*row.values()] for row in summary.table])
    for note in summary.notes:
        out.note(note, "yellow")
    for line in summary.lines:
        out.line(line)
    if summary.done:
        out.done(summary.done)
