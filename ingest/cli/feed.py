"""`attr2hbase feed`: the changes of tables with `feed`, shard by shard, and the shards themselves."""

from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import BytesOption, FileOption, TableArgument
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.formats.column_types import ColumnTypes
    from ingest.service.feed_shards import ShardRequest
    from sinks.feed.client import FeedRecord
    from sinks.feed.lag import ShardLag
    from sinks.feed.state import FeedState

ShardOption = Annotated[int, typer.Option("--shard", metavar="N", help="Number of the shard, see `describe`.")]


def list_(out: Output, file: FileOption) -> None:
    """
    List the tables with a change feed: its id, its shards, and the newest complete micro-batch.

    Example: attr2hbase feed list
    """
    from ingest.cli.loading import loaded
    from ingest.formats.times import moment
    from ingest.plan.open_feeds import feeds_of
    from sinks.feed.feature import Feed

    configuration, catalog = loaded(out, file)
    found = feeds_of(configuration, catalog)
    if out.is_json:
        for table, state in found:
            out.json(_plain_state(table, state))
        return
    out.table(
        ("table", "feed", "since", "#open shards", "complete up to"),
        [
            (
                table,
                state.feed.id,
                moment(state.feed.since_ms),
                f"{sum(shard.is_open for shard in state.feed.shards):,}",
                "-" if state.committed_ms is None else moment(state.committed_ms),
            )
            for table, state in found
        ],
    )
    begun = {table for table, _ in found}
    waiting = sorted(
        name for name, table in configuration.tables.items() if Feed.options_of(table) is not None and name not in begun
    )
    for name in waiting:
        out.note(f'the change feed of table "{name}" begins with the first micro-batch that writes it', "yellow")
    if not found and not waiting:
        out.note("no table has a change feed", "yellow")


def describe(out: Output, file: FileOption, table: TableArgument) -> None:
    r"""
    Describe the change feed of a table: its shards with their row keys and batch times, and the requested changes.

    A row key is shown with `\xNN` for bytes that are not printable. In a salted table it begins with the byte of the
    bucket.

    Example: attr2hbase feed describe orders --output json
    """
    from ingest.cli.loading import loaded
    from ingest.formats.times import moment
    from ingest.plan.open_feeds import open_feed
    from ingest.reference.readable import readable
    from sinks.feed.change_feed import SplitRequest

    with open_feed(*loaded(out, file), table) as feed:
        state = feed.client.state()
    if out.is_json:
        out.json(_plain_state(table, state))
        return
    change_feed = state.feed
    committed = (
        "no micro-batch is complete" if state.committed_ms is None else f"complete up to {moment(state.committed_ms)}"
    )
    hours = change_feed.expiration_ms / 3_600_000
    out.line(
        f"feed {change_feed.id} since {moment(change_feed.since_ms)}, changes expire after {hours:g} h; {committed}"
    )
    out.table(
        ("#shard", "first row key", "before", "from", "until", "parents"),
        [
            (
                str(shard.number),
                readable(shard.start) or "-",
                "-" if shard.stop is None else readable(shard.stop),
                moment(shard.from_ms),
                "open" if shard.until_ms is None else moment(shard.until_ms),
                ", ".join(map(str, shard.parents)) or "-",
            )
            for shard in change_feed.shards
        ],
    )
    for request in change_feed.requested:
        if isinstance(request, SplitRequest):
            what = f"shard {request.shard} is split at {readable(request.at)}"
        else:
            what = f"shards {request.shards[0]} and {request.shards[1]} are merged"
        out.note(f"{what} with the next micro-batch", "yellow")


def iterator(
    out: Output,
    file: FileOption,
    table: TableArgument,
    *,
    shard: ShardOption,
    kind: Annotated[
        str,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="TRIM_HORIZON (the oldest change), LATEST, AT_SEQUENCE, AFTER_SEQUENCE or AT_TIMESTAMP.",
        ),
    ] = "TRIM_HORIZON",
    sequence: Annotated[
        str | None, typer.Option(metavar="SEQ", help="For AT_SEQUENCE and AFTER_SEQUENCE: `seq` of a record.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="TIME", help="For AT_TIMESTAMP: a batch time, as in 2026-01-31T12:00:00Z.")
    ] = None,
) -> None:
    """
    Print an iterator: the place in a shard where `attr2hbase feed records` starts.

    An iterator can be stored and used several times. It ends only when changes after it expire.

    Example: attr2hbase feed iterator orders --shard 1 --type LATEST
    """
    from ingest.cli.loading import loaded
    from ingest.formats.times import moment_of
    from ingest.plan.open_feeds import open_feed
    from sinks.feed.client import IteratorType
    from sinks.feed.errors import InvalidIteratorError

    try:
        wanted = IteratorType(kind.upper())
    except ValueError as error:
        raise InvalidIteratorError(
            f'"{kind}" is not a type of iterators', hint=f"types: {', '.join(IteratorType)}"
        ) from error
    time_ms = None if time is None else moment_of(time)
    with open_feed(*loaded(out, file), table) as feed:
        found = feed.client.iterator(shard, wanted, sequence=sequence, time_ms=time_ms)
    out.plain({"iterator": found})
    out.line(found)
    out.next(command_line(file, "feed records", table, "--iterator", found))


def records(
    out: Output,
    file: FileOption,
    table: TableArgument,
    *,
    iterator: Annotated[str, typer.Option(metavar="I", help="Where to start; of `iterator` or an earlier page.")],
    limit: Annotated[int, typer.Option(metavar="N", help="Maximum number of changes, 1 to 5,000.")] = 1_000,
    raw: BytesOption = False,
) -> None:
    """
    Show the next changes of a shard, at most 4 MiB but at least one, and the iterator of the page after them.

    With `--output json`, one object: `records`, `next_iterator` (null once a closed shard is read to its end),
    `behind_ms` and `child_shards`. Exit code 3 if changes after the iterator have expired.

    Example: attr2hbase feed records orders --iterator 1.9f…0 --limit 100
    """
    from ingest.cli.loading import loaded
    from ingest.formats.column_types import AS_BYTES
    from ingest.plan.open_feeds import open_feed
    from sinks.feed.envelope import record_content

    configuration, catalog = loaded(out, file, shows_records=True)
    types = AS_BYTES if raw else configuration.column_types(table)
    with open_feed(configuration, catalog, table) as feed:
        page = feed.client.records(iterator, limit)
    out.plain(
        {
            "records": [record_content(table, record, types) for record in page.records],
            "next_iterator": page.next_iterator,
            "behind_ms": page.behind_ms,
            "child_shards": page.child_shards,
        }
    )
    for record in page.records:
        _show(out, record, types)
    if page.next_iterator is None:
        children = ", ".join(map(str, page.child_shards)) or "none"
        out.done(f"{counted(len(page.records), 'change')}; the shard is closed, shards that continue it: {children}")
    else:
        out.done(f"{counted(len(page.records), 'change')}, {page.behind_ms / 1000:,.3f} s behind")
        out.next(command_line(file, "feed records", table, "--iterator", page.next_iterator))


def split(
    out: Output,
    file: FileOption,
    table: TableArgument,
    *,
    shard: ShardOption,
    at: Annotated[
        str, typer.Option(metavar="KEY", help=r"First row key of the second half, as `describe` shows them (`\xNN`).")
    ],
) -> None:
    """
    Divide a shard in two, from the next micro-batch on.

    Readers read the shard to its end and continue with the two new ones, so no change is lost or read twice.

    Example: attr2hbase admin feed split orders --shard 1 --at m
    """
    from ingest.api.notation import from_readable
    from ingest.service.feed_shards import ShardRequest

    _request(out, file, table, ShardRequest(split=shard, at=from_readable(at).hex()))


def merge(
    out: Output,
    file: FileOption,
    table: TableArgument,
    *,
    shards: Annotated[
        str, typer.Option(metavar="A,B", help="Two adjacent shards, the lower row keys first, as in 1,2.")
    ],
) -> None:
    """
    Replace two adjacent shards by one, from the next micro-batch on.

    Example: attr2hbase admin feed merge orders --shards 1,2
    """
    from ingest.api import ConfigError
    from ingest.service.feed_shards import ShardRequest

    numbers = shards.split(",")
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):  # noqa: PLR2004 - of a pair
        raise ConfigError(f'"{shards}" does not name two shards', hint="write it as in --shards 1,2")
    _request(out, file, table, ShardRequest(merge=(int(numbers[0]), int(numbers[1]))))


def groups(
    out: Output,
    file: FileOption,
    table: TableArgument,
    *,
    remove: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP", help="Remove this group. Its workers end with an error; one of its name starts anew."
        ),
    ] = None,
) -> None:
    """
    List the consumer groups of a feed: who reads which shard, how far it is behind, and the retention that is left.

    Groups of an embedded store are on this machine.

    Example: attr2hbase admin feed groups orders
    """
    from ingest.api import NotFoundError
    from ingest.cli.loading import loaded
    from ingest.plan.open_feeds import open_feed
    from ingest.suggest import did_you_mean
    from sinks.feed.lag import lags_of

    with open_feed(*loaded(out, file), table) as feed:
        known = feed.leases.groups()
        if remove is not None:
            if remove not in known:
                hint = did_you_mean(remove, known) or f"there is {', '.join(known) or 'none'}"
                raise NotFoundError(f'table "{table}" has no group "{remove}"', hint=hint)
            feed.leases.remove(remove)
            out.done(f'group "{remove}" removed')
            known = feed.leases.groups()
        state = feed.client.state()
        found = {group: lags_of(state, feed.leases, group) for group in known}
    if out.is_json:
        out.json({group: None if lags is None else [lag._asdict() for lag in lags] for group, lags in found.items()})
        return
    rows = [(group, str(lag.shard), _reader(lag), *_shown(lag)) for group, lags in found.items() for lag in lags or ()]
    if rows:
        out.table(("group", "#shard", "worker", "#behind (s)", "#retention left"), rows)
    for group, lags in found.items():
        if lags is None:
            out.note(f'group "{group}" is of an earlier feed; remove it with --remove {group}', "yellow")
    if not found:
        out.note(f'the change feed of table "{table}" has no groups', "yellow")


def _reader(lag: "ShardLag") -> str:
    if lag.is_lost:
        return "none: its lease is missing"
    return "read to its end" if lag.is_ended else lag.owner or "-"


def _shown(lag: "ShardLag") -> tuple[str, str]:
    return f"{lag.behind_ms / 1000:,.3f}", f"{lag.margin:.0%}"


def _request(out: Output, file: str, table: str, request: "ShardRequest") -> None:
    from ingest.cli.loading import loaded
    from ingest.plan.open_feeds import open_feed
    from ingest.service.endpoint.client import NotRunningError, ServiceClient
    from ingest.service.feed_shards import apply_alone
    from sinks.feed.feed_json import feed_json

    configuration, catalog = loaded(out, file)
    with open_feed(configuration, catalog, table) as feed:
        found = feed_json(table, request.apply_to(feed.client)) if feed.is_writable else None
    if found is None:
        try:
            found = ServiceClient(configuration).change_shards(table, request.model_dump())
        except NotRunningError as error:
            out.note(f"{error.message}; the command writes the store in its own process", "dim")
            found = feed_json(table, apply_alone(configuration, catalog, table, request))
    out.plain(found)
    out.done(f"requested; the next micro-batch executes {counted(len(found['requested']), 'request')}")
    out.next(command_line(file, "feed describe", table))


def _show(out: Output, record: "FeedRecord", types: "ColumnTypes") -> None:
    from ingest.formats.times import moment
    from ingest.reference.readable import readable

    change = record.change
    about = f"  {change.op.value}  {moment(change.time_ms)}  {record.sequence}"
    out.parts((readable(change.row), "bold"), (about, "dim"))
    # a time that all columns share is that of the change, unless the pipeline writes times of events
    has_times = any(column.timestamp_ms != change.time_ms for column in change.columns)
    for column in change.columns:
        name = readable(column.family) + ("" if column.qualifier is None else f":{readable(column.qualifier)}")
        value = misfit = ""
        if column.value is not None:
            value, _, misfit = types.shown(column.family + b":" + (column.qualifier or b""), column.value)
        what = f"{moment(column.timestamp_ms)}  " if has_times else ""
        if column.value is None:
            what = f"{column.type.value} up to {moment(column.timestamp_ms)}"
        out.parts(
            (f"  {name or '(row)'}  ", "cyan"),
            (what, "dim"),
            (value, ""),
            (f"  ({misfit})" if misfit else "", "yellow"),
        )


def _plain_state(table: str, state: "FeedState") -> dict[str, object]:
    from sinks.feed.feed_json import feed_json

    return {
        **feed_json(table, state.feed),
        "committed_ms": state.committed_ms,
        "retention_horizon_ms": state.retention_horizon_ms,
    }
