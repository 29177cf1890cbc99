"""`attr2hbase tap`: events of a running pipeline, and the cells that its sinks write."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.amounts import counted
from ingest.cli.command import FileOption
from ingest.cli.control import NameArgument, service_of
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.service.endpoint.client import ServiceClient

_POLL_S = 0.5
_LIMIT = 10
_QUIET_S = 5.0  # without an event, before the command says that it waits
_MASK = "***"


def tap(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    pipeline: NameArgument = None,
    *,
    at: Annotated[
        str,
        typer.Option(
            metavar="LABEL",
            help="Events that this decorator sends, or what this sink writes. Default: the records that are read.",
        ),
    ] = "",
    before: Annotated[bool, typer.Option("--before", help="With --at: the events that reach the decorator.")] = False,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="Only events that meet it, as in when: \"%{level} == 'error'\"."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help=f"End after so many events or writes; {_LIMIT} without --follow."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C, or until --limit.")] = False,
) -> None:
    """
    Show events of a running pipeline before or after a decorator, or the cells that a sink writes.

    Each task of a micro-batch reports at most 20 events, and 256 KiB. Secrets are replaced by *** as in the log, so
    such an event does not give the same result again. The JSON of events is what "explain --events" and the tests of a
    file read. The pipeline stores its events as without a tap, which ends with this command.

    Example: attr2hbase tap orders --at parse --limit 3

    Example: attr2hbase tap orders --where "%{status} == '500'" --follow --output json
    """
    from ingest.cli.loading import pipeline_of

    configuration, client = service_of(out, file)
    name = pipeline_of(configuration, pipeline, how=f"name one: {command_line(file, 'tap', 'NAME')}").name
    most = limit if limit is not None or follow else _LIMIT
    opened = client.open_tap(name, {"at": at, "before": before, "where": where})
    shown, has_masked = 0, False
    try:
        for line in _lines(out, client, opened, name):
            out.plain(line)
            _show(out, line)
            has_masked = has_masked or _MASK in str(line)
            shown += 1
            if shown == most:
                break
    except KeyboardInterrupt:
        pass
    finally:
        _close(client, opened)
    if has_masked:
        out.note("*** stands for a secret: such an event does not give the same result if it is run again", "yellow")
    out.done(counted(shown, "write" if _is_write_of(configuration, name, at) else "event"))


def _lines(out: Output, client: "ServiceClient", opened: str, pipeline: str) -> Iterator[dict[str, Any]]:
    """What the tasks report, without an end."""
    from ingest.service.endpoint.asking import answered

    quiet_since = time.monotonic()
    is_noted = False
    while True:
        found = answered(lambda: client.read_tap(opened))
        if found["left_out"]:
            out.note(f"{counted(found['left_out'], 'event')} left out, since they were not read in time", "yellow")
        yield from found["lines"]
        out.flush()  # the reader of a pipe may have gone
        if found["lines"]:
            quiet_since = time.monotonic()
        elif not is_noted and time.monotonic() - quiet_since > _QUIET_S:
            states = [each["state"] for each in answered(client.status) if each["name"] == pipeline]
            out.note(
                f'waiting for events of "{pipeline}", which is {states[0] if states else "gone"}; Ctrl-C ends this'
            )
            is_noted = True
        if not found["lines"]:
            time.sleep(_POLL_S)


def _close(client: "ServiceClient", opened: str) -> None:
    """End the tap; the service also ends one that is not read."""
    from ingest.api import IngestError

    with suppress(IngestError):
        client.close_tap(opened)


def _is_write_of(configuration: Any, pipeline: str, at: str) -> bool:
    from ingest.config.model import names_of

    return at in names_of(configuration.pipelines[pipeline].sinks)


def _show(out: Output, line: dict[str, Any]) -> None:
    from ingest.cli.shown_writes import put_lines, text_of, write_lines
    from ingest.formats.times import moment

    if out.is_json:
        return
    if "cells" in line:
        for parts in put_lines(line):
            out.parts(*parts)
        return
    if "sink" in line:
        for parts in write_lines(line):
            out.parts(*parts)
        return
    event = line.get("record", line)
    place = f"{event['topic']}/{event['partition']}/{event['offset']}"
    out.parts((place, "bold"), (f"  {moment(event['timestamp_ms'])}", "dim"))
    fields = {name: event.get(name) for name in ("key", "value", "body", "host")}
    values = [(name, value) for name, value in fields.items() if value not in (None, "")]
    if "record" in line and event["value"] is None:
        values.append(("value", None))
    values += [*event.get("attributes", {}).items(), *event.get("headers", ())]
    for name, value in values:
        out.parts((f"  {text_of(name)} = ", "dim"), ("null" if value is None else text_of(value), ""))
