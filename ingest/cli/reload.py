"""`attr2hbase reload`: a running service reads its pipeline file again."""

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument
from ingest.cli.control import WAIT_S, reason_of, service_of
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.service.endpoint.client import ServiceClient

_POLL_S = 0.2
_REPLACED = ("changed", "added", "removed")
"""What a reload does to pipelines."""


def reload(
    out: Output,
    file: FileArgument,
    *,
    check: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            metavar="N",
            help="First run the newest N records of each changed pipeline, or the first N lines of its files, through "
            'the running and the new version, as "diff" does; the file is refused if anything differs.',
        ),
    ] = None,
) -> None:
    """
    Let a running service read its file again; only the pipelines that changed are replaced, after their micro-batch.

    A file with problems changes nothing. SIGHUP does the same. Waits until the changed pipelines have started, and ends
    with exit code 1 if one fails, or if a check finds a difference; a reload without --check then takes the file.

    Example: attr2hbase reload

    Example: attr2hbase reload --check 1000
    """
    from ingest.api import ConfigError

    configuration, client = service_of(out, file)
    out.problems(configuration.report)
    _refuse_other_file(client, file)
    accepted = client.reload(check or 0)
    started: list[dict[str, Any]] = []
    while (found := _reload_status(client, accepted))["phase"] not in ("done", "refused"):
        time.sleep(_POLL_S)
    if found["phase"] == "done":
        started = _started(client, {*found["changed"], *found["added"]} - found["failed"].keys())
        found["failed"] |= {each["name"]: reason_of(each) for each in started if each["state"] == "failed"}
    _show_check(out, client, found, is_wanted=check is not None)
    out.plain(found)
    if found["phase"] == "refused":
        if any(each["differs"] for each in found["differences"]):
            out.next(command_line(file, "reload"))
            raise typer.Exit(1)
        raise ConfigError(
            f"the service keeps the old file: {found['reason']}",
            hint=found.get("hint") or command_line(file, "validate"),
        )
    _show_done(out, found, started)
    if found["failed"] and not configuration.pipelines.keys() - found["failed"].keys():
        out.note("no pipeline runs: the service ends", "red")
        out.next(command_line(file, "run"))
    else:
        out.next(command_line(file, "status"))
    if found["failed"]:
        raise typer.Exit(1)


def _show_done(out: Output, found: dict[str, Any], started: list[dict[str, Any]]) -> None:
    for name, reason in found["failed"].items():
        out.note(f"{name} failed: {reason}", "red")
    for each in started:
        if each["state"] in ("blocked", "backing_off"):
            out.note(f"{each['name']} is {each['state']}: {reason_of(each)}", "yellow")
    done = {kind: [name for name in found[kind] if name not in found["failed"]] for kind in _REPLACED}
    replaced = ", ".join(f"{kind} {' '.join(names)}" for kind, names in done.items() if names)
    if replaced or not found["failed"]:
        out.done(replaced or "nothing has changed")


def _show_check(out: Output, client: "ServiceClient", found: dict[str, Any], *, is_wanted: bool) -> None:
    """Replace the numbers of a check by its whole result, and print it."""
    from ingest.cli.shown_diff import show_diff

    if is_wanted and not found["check"]:
        out.note("nothing was checked: another reload, without a check, was requested at the same time", "yellow")
    if not found["differences"]:
        return
    found["differences"] = client.reload_differences(found["id"])
    for each in found["differences"]:
        show_diff(out, each, more="'attr2hbase diff' shows more")
        if each["limit_bytes"] is not None:
            out.note(
                f"{each['pipeline']}: {counted(each['events'], 'record')} of {found['check']:,} were compared, as many "
                f"as have {each['limit_bytes'] >> 20} MiB",
                "yellow",
            )
    if not out.is_json and found["phase"] == "refused":
        out.note(f"the service keeps the old file: {found['reason']}", "yellow")


def _refuse_other_file(client: "ServiceClient", file: str) -> None:
    from ingest.api import ConflictError

    read = client.reload_status()["file"]
    if read and (file == "-" or os.path.realpath(read) != os.path.realpath(file)):
        raise ConflictError(
            f'the service reads "{read}", not "{file}"', hint=f"change that file: '{command_line(read, 'reload')}'"
        )


def _reload_status(client: "ServiceClient", accepted: dict[str, Any]) -> dict[str, Any]:
    """How far a reload has come."""
    from ingest.api import ConflictError, NotFoundError
    from ingest.service.endpoint.asking import answered
    from ingest.service.endpoint.client import NotReachedError, NotRunningError

    try:
        found = answered(lambda: client.reload_status(accepted["id"]))
    except NotRunningError as error:
        raise NotReachedError(
            "the service has ended before the reload was complete", hint="its next start reads the file"
        ) from error
    except NotFoundError:
        found = {}
    if found.get("started_ms") != accepted["started_ms"]:
        raise ConflictError("the service was restarted meanwhile; it has read the file at its start")
    return found


def _started(client: "ServiceClient", pipelines: set[str]) -> list[dict[str, Any]]:
    """
    The status of pipelines, as soon as they have started, have failed or wait for a store or their source.

    Raises:
        NotReachedError: some have not within 60 s, or the service has ended, as it does if all have failed.
    """
    from ingest.service.endpoint.asking import answered
    from ingest.service.endpoint.client import NotReachedError, NotRunningError

    deadline = time.monotonic() + WAIT_S
    while pipelines:
        try:
            found = [each for each in answered(client.status) if each["name"] in pipelines]
        except NotRunningError as error:
            raise NotReachedError("the service has ended after the reload", hint="its log says why") from error
        starting = [each["name"] for each in found if each["state"] == "starting"]
        if not starting:
            return found
        if time.monotonic() >= deadline:
            raise NotReachedError(
                f"reloaded, and within {WAIT_S:g} s {' '.join(starting)} did not start; the service still tries",
                hint="'attr2hbase status' shows when it has done so",
            )
        time.sleep(_POLL_S)
    return []
