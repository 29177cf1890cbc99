"""`attr2hbase tap`: events of a running pipeline, and the cells that its sinks write."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.amounts import counted
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.control import NameArgument, service_of
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.service.endpoint.client import ServiceClient

_POLL_S = 0.5
_LIMIT = 10
_QUIET_S = 5.0  # without an event, before the command says that it waits
_AGAIN_S = 30.0  # without an event, before it says again which events it has compared
_NAMES = 8  # of attributes, in a line
_MASK = "***"


def tap(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    pipeline: NameArgument = None,
    *,
    named: PipelineOption = None,
    at: Annotated[
        str,
        typer.Option(
            metavar="LABEL",
            help="Events that this decorator sends, or what this sink writes. Default: the records that are read.",
        ),
    ] = "",
    before: Annotated[bool, typer.Option("--before", help="With --at: the events that reach the decorator.")] = False,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="Events that fail, with the error: in all components, or in the one of --at."),
    ] = False,
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
    Show events of a running pipeline before or after a decorator, those that fail, or the cells that a sink writes.

    Each task of a micro-batch reports at most 20 events, and 256 KiB. Secrets are replaced by *** as in the log, so
    such an event does not give the same result again. The JSON of events is what "explain --events" and the tests of a
    file read. The pipeline stores its events as without a tap, which ends with this command.

    Example: attr2hbase tap orders --at parse --limit 3

    Example: attr2hbase tap orders --failed

    Example: attr2hbase tap orders --where "%{status} == '500'" --follow --output json
    """
    from ingest.api import ConfigError
    from ingest.cli.loading import pipeline_of

    configuration, client = service_of(out, file)
    if None not in (pipeline, named) and pipeline != named:
        raise ConfigError(f'two pipelines: "{pipeline}" and "{named}"', hint="name one")
    name = pipeline_of(configuration, pipeline or named, how=f"name one: {command_line(file, 'tap', 'NAME')}").name
    most = limit if limit is not None or follow else _LIMIT
    opened = client.open_tap(name, {"at": at, "before": before, "failed": failed, "where": where})
    shown, has_masked, is_cut = 0, False, False
    waiting = _Waiting(out, client, name, "failed events" if failed else "events")
    try:
        for line in _lines(out, client, opened, waiting):
            out.plain(line)
            is_cut = _show(out, line) or is_cut
            has_masked = has_masked or _MASK in str(line)
            shown += 1
            if shown == most:
                break
    except KeyboardInterrupt:
        pass
    finally:
        _close(client, opened)
    if is_cut:
        out.note("lines are cut to the width of the terminal; with --output json they are whole", "dim")
    if has_masked:
        out.note("*** stands for a secret: such an event does not give the same result if it is run again", "yellow")
    is_write = not failed and _is_write_of(configuration, name, at)
    compared = "" if where is None else f"; {waiting.met}"
    out.done(counted(shown, "write" if is_write else "failed event" if failed else "event") + compared)


class _Waiting:
    """
    Says on stderr what a tap waits for while no event is shown.

    Args:
        out: of the command.
        client: of the service.
        pipeline: its name.
        what: the events that are shown.

    Attributes:
        met: how many of the compared events meet the condition.
    """

    def __init__(self, out: Output, client: "ServiceClient", pipeline: str, what: str) -> None:
        self._out = out
        self._client = client
        self._pipeline = pipeline
        self._what = what
        self._since = time.monotonic()
        self._wait_s = _QUIET_S
        self._compared = 0
        self.met = _met({"met": 0, "compared": 0})

    def read(self, found: dict[str, Any]) -> None:
        """The service has answered."""
        counts = found["condition"]
        if counts is not None:
            self.met = _met(counts)
        if found["lines"]:
            self._since, self._wait_s = time.monotonic(), _QUIET_S
        elif time.monotonic() - self._since > self._wait_s:
            is_first = self._wait_s == _QUIET_S
            self._since, self._wait_s = time.monotonic(), _AGAIN_S
            if counts is not None and counts["compared"] > self._compared:
                self._compared = counts["compared"]
                self._out.note(f"waiting: {'; '.join(_why_none(counts))}; Ctrl-C ends this", "yellow")
            elif is_first:
                self._out.note(f'waiting for {self._what} of "{self._pipeline}", {self._state()}; Ctrl-C ends this')

    def _state(self) -> str:
        from ingest.service.endpoint.asking import answered

        states = [each["state"] for each in answered(self._client.status) if each["name"] == self._pipeline]
        return f"which is {states[0] if states else 'gone'}"


def _met(counts: dict[str, Any]) -> str:
    return f"{counts['met']:,} of {counted(counts['compared'], 'compared event')} met the condition"


def _why_none(counts: dict[str, Any]) -> Iterator[str]:
    """What is known of events of which few or none meet a condition."""
    from ingest.suggest import did_you_mean

    yield _met(counts)
    names = counts["attributes"]
    for absent in counts["absent"]:
        hint = did_you_mean(absent, names)
        yield f'none has the attribute "{absent}"{hint and ": "}{hint}'
    if counts["absent"] and names:
        yield f"they have {', '.join(names[:_NAMES])}{', …' if len(names) > _NAMES else ''}"
    elif counts["absent"]:
        yield "they have no attributes, which decorators set: --at LABEL shows the events that a decorator sends"
    if counts["failed"]:
        yield f"for {counts['failed']:,} it cannot be evaluated: {counts['error']}"


def _lines(out: Output, client: "ServiceClient", opened: str, waiting: _Waiting) -> Iterator[dict[str, Any]]:
    """What the tasks report, without an end."""
    from ingest.service.endpoint.asking import answered

    while True:
        found = answered(lambda: client.read_tap(opened))
        if found["left_out"]:
            out.note(f"{counted(found['left_out'], 'event')} left out, since they were not read in time", "yellow")
        waiting.read(found)
        yield from found["lines"]
        out.flush()  # the reader of a pipe may have gone
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


def _show(out: Output, line: dict[str, Any]) -> bool:
    """Print a line of a tap as text; returns whether something was cut."""
    if out.is_json:
        return False
    is_cut = False
    for parts in _texts(line):
        is_cut = out.cut(*parts) or is_cut
    return is_cut


def _texts(line: dict[str, Any]) -> Iterator[tuple[tuple[str, str], ...]]:
    """The lines of an event, or of what a sink writes, in pieces of text and style."""
    from ingest.cli.shown_writes import put_lines, text_of, write_lines
    from ingest.formats.times import moment

    if "sink" in line:
        yield from put_lines(line) if "cells" in line else write_lines(line)
        return
    event = line.get("record", line)
    place = f"{event['topic']}/{event['partition']}/{event['offset']}"
    yield (place, "bold"), (f"  {moment(event['timestamp_ms'])}", "dim")
    if "component" in line:
        dropped = ", dropped" if line["on_error"] == "drop" else ""
        yield ((f"  failed in {line['component']}: {line['code']}: {line['message']}{dropped}", "red"),)
    fields = {name: event.get(name) for name in ("key", "value", "body", "host")}
    values = [(name, value) for name, value in fields.items() if value not in (None, "")]
    if "record" in line and event["value"] is None:
        values.append(("value", None))
    values += [*event.get("headers", ()), *line.get("attributes", {}).items()]
    for name, value in values:
        yield (f"  {text_of(name)} = ", "dim"), ("null" if value is None else text_of(value), "")
