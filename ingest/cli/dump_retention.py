"""`attr2hbase admin dump expire`, `pin` and `unpin`: how long dumps stay."""

from contextlib import ExitStack
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.cli.dump import AtOption, RootArgument
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.formats.durations import milliseconds
from ingest.formats.times import moment
from sinks.dumps.expiry import Retention, files_to_remove, plan_expiry
from sinks.dumps.expiry import expire as remove_expired
from sinks.dumps.listing import newest_dump
from sinks.dumps.lock import root_lock
from sinks.dumps.pins import create_pin, remove_pin
from sinks.dumps.reader import name_of
from sinks.files.opening import existing_root, open_root


def expire(
    out: Output,
    root: RootArgument,
    *,
    keep: Annotated[str, typer.Option(metavar="DURATION", help="Age up to which complete dumps stay.")] = "7d",
    keep_last: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of newest complete dumps that stay, whatever their age.")
    ] = 1,
    incomplete: Annotated[
        str, typer.Option(metavar="DURATION", help="Age up to which incomplete dumps and leftovers stay.")
    ] = "24h",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be removed; remove nothing.")] = False,
) -> None:
    """
    Remove old dumps, and print each file that is removed.

    Dumps with a pin or a file _KEEP stay. Files that this product has not written stay and are reported. Only one
    process at a time makes or removes dumps of a root; a second one is refused with exit code 4.

    Example: attr2hbase admin dump expire /backups --keep 7d --dry-run
    """
    retention = Retention(milliseconds("--keep", keep), keep_last, milliseconds("--incomplete", incomplete))
    opened = existing_root(root)
    with ExitStack() as held, file_errors(opened):
        if not dry_run:
            held.enter_context(root_lock(opened, "attr2hbase admin dump expire", on_wait=out.note))
        plan = plan_expiry(opened, retention, now_ms())
        reasons = dict(plan.expired)

        def show(path: str) -> None:
            reason = next(reason for folder, reason in reasons.items() if f"{path}/".startswith(f"{folder}/"))
            out.plain({"path": path, "reason": reason.value, "removed": not dry_run})
            out.line(path)

        if dry_run:
            for path in files_to_remove(opened, plan):
                show(path)
            names = plan.dumps
        else:
            names = remove_expired(opened, plan, now_ms(), show)
    for path in plan.foreign:
        out.note(f"foreign: {path}", "yellow")
    for name, reason in sorted(plan.kept.items()):
        out.note(f"kept: {name}: {reason}", "dim")
    out.done(f"{counted(len(names), 'dump')} {'would be removed' if dry_run else 'removed'}")
    if dry_run and plan.expired:
        options = ("--keep", keep, "--keep-last", str(keep_last), "--incomplete", incomplete)
        out.next(command_line(None, "admin dump expire", root, *options))


def pin(
    out: Output,
    root: RootArgument,
    *,
    at: AtOption = None,
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long the pin is valid.")] = "24h",
    owner: Annotated[str, typer.Option(metavar="TEXT", help="Who needs the dump; by default this process.")] = "",
) -> None:
    """
    Keep a dump from expiring, and print the id of the pin.

    To keep a dump for good, create a file _KEEP in its folder.

    Example: attr2hbase admin dump pin /backups --at 2026-01-31T02:00:00Z --for 72h --owner "ann, report of January"
    """
    opened = open_root(root)
    with file_errors(opened):
        name = newest_dump(opened).name if at is None else name_of(at)
        created = create_pin(opened, name, now_ms(), owner=owner, ttl_ms=milliseconds("--for", for_))
    expires = moment(created.expires_ms)
    out.plain({"id": created.id, "dump": created.dump, "owner": created.owner, "expires": expires})
    out.line(created.id)
    out.done(f'the dump "{name}" is pinned until {expires}')
    out.next(command_line(None, "admin dump unpin", root, created.id))


def unpin(
    out: Output, root: RootArgument, id_: Annotated[str, typer.Argument(metavar="PIN", help="Id of the pin.")]
) -> None:
    """
    Remove a pin.

    Example: attr2hbase admin dump unpin /backups 5f0c9a
    """
    opened = open_root(root)
    with file_errors(opened):
        remove_pin(opened, id_)
    out.plain({"removed": id_})
    out.done(f"the pin {id_} is removed")
