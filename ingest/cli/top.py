"""`attr2hbase top`: the pipelines of a running service with the figures of their components, live in a terminal."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.control import pipeline_notes, pipelines_table, reason_of, service_of
from ingest.cli.output import WIDTH, Output
from ingest.cli.shown_components import COLUMNS, component_rows, findings

if TYPE_CHECKING:
    from ingest.service.endpoint.client import ServiceClient

_ERRORS = 3  # newest ones of a pipeline
_LINES = 4  # of an error
_MORE = "… a larger terminal, or --pipeline NAME, shows the rest"


def top(
    out: Output,
    file: FileOption,
    *,
    pipeline: PipelineOption = None,
    every: Annotated[
        float, typer.Option(min=0.5, max=3600, metavar="SECONDS", help="Time between two pictures.")
    ] = 2.0,
) -> None:
    """
    Show the pipelines of a running service, and what each decorator and sink does, live; Ctrl-C ends it.

    In a terminal the picture is drawn again every two seconds. If stdout is none, it is printed once, and with --output
    json an object for each pipeline.

    Example: attr2hbase top

    Example: attr2hbase top --pipeline orders | cat
    """
    from ingest.api import NotFoundError

    configuration, client = service_of(out, file)
    wanted = None if pipeline is None else configuration.pipeline(pipeline).name
    found = client.overview()
    if wanted is not None and not any(each["name"] == wanted for each in found["pipelines"]):
        raise NotFoundError(f'the service has not loaded pipeline "{wanted}"')
    if out.is_json:
        for each in _chosen(found, wanted):
            out.json(each)
        return
    if not out.has_screen:
        _show(out, client, found, wanted)
        return
    with suppress(KeyboardInterrupt), out.screen(_MORE) as draw:
        while True:
            draw(partial(_show, out, client, found, wanted))
            time.sleep(every)
            found = _next(client, found)


def _next(client: "ServiceClient", before: dict[str, Any]) -> dict[str, Any]:
    """What the service answers now; or the last answer, with the error."""
    from ingest.api import IngestError

    try:
        return client.overview()
    except IngestError as error:  # the service starts again, or its machine is overloaded
        return before | {"error": error.message}


def _chosen(found: dict[str, Any], wanted: str | None) -> list[dict[str, Any]]:
    return [each for each in found["pipelines"] if wanted in (None, each["name"])]


def _show(out: Output, client: "ServiceClient", found: dict[str, Any], wanted: str | None) -> None:
    from ingest.formats.times import moment

    chosen = _chosen(found, wanted)
    out.cut((client.url, "bold"), (f"  {_memory(found['memory'])}", "dim"))
    if "error" in found:
        out.line(f"as of the last answer: {found['error']}", "red")
    pipelines_table(out, chosen, with_reason=False, width=WIDTH)
    for text, color in pipeline_notes(chosen):
        out.wrapped(text, color)
    for each in chosen:
        out.line()
        out.cut((each["name"], "bold"), (f"  {_batch(each)}", "dim"))
        out.table(COLUMNS, component_rows(each["components"]), WIDTH)
        for text in findings(each["components"]):
            out.wrapped(text, "yellow", "  ")
        reason = reason_of(each)
        if reason:
            out.wrapped(f"{each['state']}: {reason}", "red", "  ", most=_LINES)
        for text, at_ms in _errors(each["errors"], reason):
            out.wrapped(f"{moment(at_ms)}  {text}", "red", "  ", most=_LINES)


def _errors(errors: Sequence[dict[str, Any]], reason: str) -> list[tuple[str, int]]:
    """The newest errors and their times, each text once; without the one that is the reason of the state."""
    found: dict[str, int] = {}
    for error in errors:
        first_line = error["message"].partition("\n")[0]
        text = f"{error['code']}: {first_line}"
        if not reason.startswith(text):  # the reason may have a note after it, and an error may be cut
            found.pop(text, None)
            found[text] = error["at_ms"]
    return list(found.items())[-_ERRORS:]


def _memory(memory: dict[str, Any]) -> str:
    parts = [f"driver {_mib(memory['driver_bytes'])}"] if memory["driver_bytes"] else []
    if (jvm := memory["jvm"]) is not None:
        parts.append(f"JVM {_mib(jvm['heap_used_bytes'])} of {_mib(jvm['heap_max_bytes'])}")
        parts.append(f"GC {jvm['gc_seconds']:,.1f} s")
    return ", ".join(parts)


def _batch(status: dict[str, Any]) -> str:
    batch = status["batch"]
    if batch is None:
        return "no micro-batch yet"
    worker = f", largest worker {_mib(status['worker_bytes'])}" if status["worker_bytes"] else ""
    ago_s = max(0.0, time.time() - batch["at_ms"] / 1000)
    return f"micro-batch {batch['id']} took {batch['seconds']:,.2f} s, {ago_s:,.0f} s ago{worker}"


def _mib(count: int) -> str:
    return f"{count / (1 << 20):,.0f} MiB"
