"""`attr2hbase status`, `pause`, `resume`, `flush` and `log-level`: a running service from its pipeline file."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.amounts import counted
from ingest.cli import completion
from ingest.cli.command import FileArgument, FileOption
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.shown_components import COLUMNS, component_rows, findings
from ingest.observe.log_level import LogLevel

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.service.endpoint.client import ServiceClient
    from ingest.service.pauses import Pauses

NameArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[PIPELINE]",
        help="Name of the pipeline; optional if the file has one.",
        autocompletion=completion.pipelines,
    ),
]
WAIT_S = 60.0
"""How long a command waits for its effect; it is carried out later too."""
_POLL_S = 0.2
_STARTED = ("running", "blocked", "backing_off")


def status(
    out: Output,
    file: FileArgument,
    *,
    pipeline: Annotated[
        str | None,
        typer.Option("--pipeline", metavar="NAME", help="Only this pipeline.", autocompletion=completion.pipelines),
    ] = None,
    components: Annotated[
        bool,
        typer.Option(
            "--components",
            help="Also show the decorators and sinks: events since the service started, and of the last minute the "
            "rates, the mean time of a call in microseconds, and its part of the time of all.",
        ),
    ] = False,
) -> None:
    """
    Show the state, rates and lag of the pipelines of a running service, and the jobs that wait or run.

    The file may have errors outside of `state_dir` and `service`, as after a wrong edit.

    Example: attr2hbase status

    Example: attr2hbase status --components
    """
    from ingest.api import ConfigError, NotFoundError
    from ingest.cli.loading import pipeline_of
    from ingest.service.endpoint.client import NotRunningError
    from ingest.service.pauses import Pauses

    wanted = pipeline
    client: ServiceClient | None
    has_errors = False
    try:
        configuration, client = service_of(out, file)
    except ConfigError:
        client = _service_of_wrong_file(out, file)
        if client is None:
            raise
        has_errors = True
    else:
        wanted = None if pipeline is None else pipeline_of(configuration, pipeline).name
    try:
        found = [each for each in client.status() if wanted in (None, each["name"])]
    except NotRunningError:
        if not has_errors and configuration.state_url is None:
            for name in filter(Pauses(configuration.local_dir).is_set, configuration.pipelines):
                out.note(f'pipeline "{name}" is paused: {command_line(file, "resume", name)}', "yellow")
        raise
    if has_errors:
        out.note(
            f"the file has errors ({command_line(file, 'validate')}); the service continues with the one it has loaded",
            "yellow",
        )
    if wanted is not None and not found:
        raise NotFoundError(
            f'the service has not loaded pipeline "{wanted}"',
            hint=f"apply the file with '{command_line(file, 'reload')}'",
        )
    _show(out, found)
    if components:
        _show_components(out, found)
    if not out.is_json:
        _show_jobs(out, client.jobs() if wanted is None else found[0]["jobs"])


def pause(out: Output, file: FileOption, pipeline: NameArgument = None) -> None:
    """
    Pause a pipeline after its running micro-batch; the pause survives a restart of the service.

    The pipeline keeps its checkpoint. Without a running service, the next one starts with the pipeline paused.

    Example: attr2hbase pause mypipeline
    """
    name, configuration, client = _target(out, file, pipeline, "pause")
    if _send_or_record(out, configuration, client, name, "pause", record=lambda pauses: pauses.set(name)):
        _wait(out, client, name, lambda each: each["state"] == "paused", "paused after its micro-batch")
    else:
        _show_recorded(out, name, is_paused=True)
    out.next(command_line(file, "resume", name))


def resume(out: Output, file: FileOption, pipeline: NameArgument = None) -> None:
    """
    Resume a paused pipeline where it stopped.

    Example: attr2hbase resume mypipeline
    """
    name, configuration, client = _target(out, file, pipeline, "resume")
    if _send_or_record(out, configuration, client, name, "resume", record=lambda pauses: pauses.clear(name)):
        _wait(out, client, name, lambda each: each["state"] in _STARTED, "started")
    else:
        _show_recorded(out, name, is_paused=False)
        out.next(command_line(file, "run"))
        return
    out.next(command_line(file, "status"))


def flush(out: Output, file: FileOption, pipeline: NameArgument = None) -> None:
    """
    Start the next micro-batch of a pipeline now, if it waits for the interval of its trigger.

    Example: attr2hbase flush mypipeline
    """
    name, _, client = _target(out, file, pipeline, "flush")
    client.command(name, "flush")
    out.plain({"pipeline": name, "flushed": True})
    out.done(f'"{name}" starts its next micro-batch now')
    out.next(command_line(file, "status", "--pipeline", name))


def reason_of(status: dict[str, Any]) -> str:
    """The first line of the reason of a state; Spark appends the plan of the query."""
    return str(status["reason"]).strip().partition("\n")[0]


def log_level(
    out: Output,
    file: FileOption,
    level: Annotated[LogLevel, typer.Argument(metavar="LEVEL", help="Lowest level that is written.")],
) -> None:
    """
    Set the log level of a running service and its workers, until it ends or reloads its file.

    Example: attr2hbase admin log-level debug
    """
    _, client = service_of(out, file)
    client.set_log_level(level.value)
    out.plain({"log_level": level.value})
    out.done(f"the service writes log lines from level {level.value}; its workers from their next micro-batch")


def _target(out: Output, file: str, pipeline: str | None, command: str) -> tuple[str, "Configuration", "ServiceClient"]:
    from ingest.cli.loading import pipeline_of

    configuration, client = service_of(out, file)
    chosen = pipeline_of(configuration, pipeline, how=f"name one: {command_line(file, command, 'NAME')}")
    return chosen.name, configuration, client


def service_of(out: Output, file: str) -> tuple["Configuration", "ServiceClient"]:
    """A checked pipeline file, and the client of its service."""
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded
    from ingest.service.endpoint.client import ServiceClient

    try:
        configuration, _ = loaded(out, file)
    except ConfigError as error:
        error.hint = error.hint or "correct the file; a running service continues with the file that it has loaded"
        raise
    return configuration, ServiceClient(configuration)


def _service_of_wrong_file(out: Output, file: str) -> "ServiceClient | None":
    """The client of the service of a file with errors; None if they hide its endpoint."""
    from ingest.catalog import Catalog
    from ingest.config import load_service
    from ingest.service.endpoint.client import ServiceClient

    configuration = None if file == "-" else load_service(file, env=os.environ, lookup=Catalog())
    if configuration is None:
        return None
    out.hide_secrets(configuration.masks.hide, in_data=True)
    return ServiceClient(configuration)


def _send_or_record(
    out: Output,
    configuration: "Configuration",
    client: "ServiceClient",
    pipeline: str,
    command: str,
    *,
    record: "Callable[[Pauses], None]",
) -> bool:
    """
    Whether a service has accepted the command; if none runs, it is recorded for the next one, with a note.

    Raises:
        ConflictError: a driver on another machine runs the pipeline, and would not see the record.
    """
    from ingest.cli.loading import note_missing_state
    from ingest.service.endpoint.client import NotRunningError
    from ingest.service.pauses import Pauses
    from ingest.spark.state import state_of

    with contextlib.suppress(NotRunningError):
        client.command(pipeline, command)
        return True
    if configuration.state_url is not None:
        _refuse_other_machine(configuration, pipeline, command)
    note_missing_state(out, configuration)
    record(Pauses(state_of(configuration)))
    try:
        client.command(pipeline, command)  # to a service that has started before the record was complete
    except NotRunningError as error:
        out.note(error.message, "dim")
        return False
    return True


def _refuse_other_machine(configuration: "Configuration", pipeline: str, command: str) -> None:
    from ingest.api import ConflictError
    from ingest.spark.state import checkpoint_folder
    from ingest.spark.streaming.checkpoint import Checkpoint

    if Checkpoint(checkpoint_folder(configuration, pipeline)).is_locked():
        raise ConflictError(
            f'a driver runs pipeline "{pipeline}", and this command does not find its endpoint',
            hint=f"run 'attr2hbase {command}' on the machine of the driver",
        )


def _show_recorded(out: Output, pipeline: str, *, is_paused: bool) -> None:
    """Print what applies to the next start, since no service runs."""
    out.plain({"pipeline": pipeline, "service": "not_running", "paused": is_paused})
    out.done(f'"{pipeline}" will {"" if is_paused else "not "}be paused when the service starts')


def _wait(
    out: Output, client: "ServiceClient", pipeline: str, is_reached: Callable[[dict[str, Any]], bool], what: str
) -> None:
    """
    Wait until a pipeline has changed, and show its status.

    Raises:
        NotReachedError: it has ended, was removed, or does not change within 60 s.
    """
    from ingest.service.endpoint.asking import answered
    from ingest.service.endpoint.client import NotReachedError

    deadline = time.monotonic() + WAIT_S
    while True:
        found = [each for each in answered(client.status) if each["name"] == pipeline]
        if not found:
            raise NotReachedError(f'pipeline "{pipeline}" is not {what}: a reload has removed it')
        ended = [each for each in found if each["state"] in ("failed", "stopped") and not is_reached(each)]
        if ended or all(map(is_reached, found)) or time.monotonic() >= deadline:
            break
        time.sleep(_POLL_S)
    _show(out, found)
    if ended:
        state, reason = ended[0]["state"], reason_of(ended[0])
        raise NotReachedError(
            f'pipeline "{pipeline}" is not {what}: it has {state}{reason and ": "}{reason}',
            hint="correct the cause, then start it again with 'attr2hbase reload'" if state == "failed" else None,
        )
    if not all(map(is_reached, found)):
        raise NotReachedError(
            f'pipeline "{pipeline}" is not {what} within {WAIT_S:g} s; the service still carries out the command',
            hint="'attr2hbase status' shows when it has done so",
        )


def _show(out: Output, found: Sequence[dict[str, Any]]) -> None:
    if out.is_json:
        for each in found:
            out.json(each)
        return
    pipelines_table(out, found)
    for text, color in pipeline_notes(found):
        out.note(text, color)


def pipelines_table(
    out: Output, found: Sequence[dict[str, Any]], *, with_reason: bool = True, width: int | None = None
) -> None:
    """A row for each pipeline of `GET /pipelines`; see `Output.table`."""
    out.table(
        ("pipeline", "state", "#for", "#batches", "#stored", "#events/s", "#lag", *(["reason"] if with_reason else [])),
        [
            (
                each["name"],
                each["state"],
                _age(time.time() - each["since_ms"] / 1000),
                f"{each['totals']['batches']:,}",
                f"{each['totals']['stored']:,}",
                f"{each['rates']['stored_per_s']:,.0f}",
                "" if each["lag"] is None else f"{each['lag']['records']:,}",
                *([reason_of(each)] if with_reason else []),
            )
            for each in found
        ],
        width,
    )


def pipeline_notes(found: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """What an operator should know of pipelines besides their table: a line and its colour."""
    from ingest.kafka.retention import HALF
    from ingest.observe.activity import REASONS_OF_CALLS

    for each in found:
        dead = each["totals"]["dead_lettered"]
        if dead:
            newest = each["dead_lettered_by"][0] if each["dead_lettered_by"] else None
            text = f"{counted(dead, 'dead letter')} since the service started"
            about = "" if newest is None else f", the newest: {newest['error']} in {newest['component']}"
            yield f"{each['name']}: {text}{about}", "yellow"
        ratio = each["throttle"]["ratio"]
        if ratio < 1:
            yield f"{each['name']}: a store is overloaded, so tasks run for {ratio:.0%} of the time", "yellow"
        for load in each["bulk_load"]:
            rows = f"{counted(load['rows'], 'row')} in {counted(load['files'], 'file')}, {load['seconds']:,.1f} s"
            yield f"{each['name']}: bulk load of table {load['table']}: {rows}; now {load['mode']}", "dim"
            for name, why in REASONS_OF_CALLS.items():
                if chunks := load[name]:
                    yield f"{each['name']}: {counted(chunks, 'chunk')} went as calls: {why}", "yellow"
        retention = each["retention"]
        if retention is not None and retention["used"] >= HALF:
            worst = retention["partitions"][0]
            place = f'partition {worst["partition"]} of topic "{worst["topic"]}"'
            left = "" if worst["remaining_s"] is None else f", {_age(worst['remaining_s'])} remain"
            text = f"unread records of {place} have used {worst['used']:.0%} of Kafka's retention{left}"
            yield f"{each['name']}: {text}", "yellow"


def _show_components(out: Output, found: Sequence[dict[str, Any]]) -> None:
    """A table for each pipeline; JSON has them in any case."""
    for each in found:
        out.line()
        out.line(each["name"], "bold")
        out.table(COLUMNS, component_rows(each["components"]))
        for text in findings(each["components"]):
            out.note(f"{each['name']}: {text}", "yellow")


def _show_jobs(out: Output, jobs: Sequence[dict[str, Any]]) -> None:
    """Print those that wait or run; the subject of a job is a pipeline, a table or the root of a dump."""
    for job in jobs:
        if job["state"] in ("waiting", "running"):
            parts = f", {job['done']:,} of {job['total']:,} slices" if job["total"] else ""
            reason = f", {job['reason']}" if job["reason"] else ""
            out.note(f"{job['subject']}: {job['kind']} {job['state']}{parts}{reason}", "dim")


def _age(seconds: float) -> str:
    """Time in its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"
