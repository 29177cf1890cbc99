"""`attr2hbase admin keys analyse`: how the row keys of a pipeline spread writes over the regions of its tables."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.given import AtOption, LinesOption, TopicOption
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.api import StoredRegion
    from ingest.config.model import Configuration, Pipeline
    from ingest.config.test_cases import Given
    from ingest.dry_run.spread import TableAnalysis
    from sinks.rowkeys.analysis import KeyAnalysis, KeyWarning
    from sinks.rowkeys.layout import Spread

_FIRST_LINES = 10_000  # of the source's files
_MOST_REGIONS = 10  # shown as text
_MOST_ERRORS = 3
_BUCKETS = 16  # in the example of a salted table


def analyse(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    *,
    pipeline: PipelineOption = None,
    events: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Events, one JSON object per line, oldest first; - is stdin. Default: the first 10,000 lines of the "
            "source's files.",
        ),
    ] = None,
    lines: LinesOption = None,
    topic: TopicOption = None,
    at: AtOption = None,
    prefix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY", help=r"Count the rows with this prefix: text, with \xNN for other bytes; repeat it."
        ),
    ] = None,
    regions: Annotated[
        int,
        typer.Option(
            min=2,
            max=1_000,
            metavar="N",
            help="Number of regions that even split points make, unless the table is salted.",
        ),
    ] = 8,
    connect: Annotated[
        bool, typer.Option("--connect", help="Take the regions of existing tables from their stores.")
    ] = False,
) -> None:
    """
    Show how row keys spread writes over regions, and how buckets or other split points would; writes nothing.

    Runs events through a pipeline as "explain" does, and analyses the row keys of each table it writes to. "newest" is
    the last tenth of the writes: if one region receives most of them, its server limits the rate. A scan of a prefix
    reads all rows of that prefix.

    Example: attr2hbase admin keys analyse --topic 100000

    Example: attr2hbase admin keys analyse --lines access.log --prefix user-17-
    """
    from ingest.api.notation import from_readable
    from ingest.cli.loading import loaded, print_plugins
    from ingest.dry_run import DryRun
    from ingest.dry_run.row_keys import RowKeySample
    from ingest.dry_run.spread import analyses
    from ingest.plan.assemble import plan_of

    configuration, catalog = loaded(out, file)
    given = _given(configuration, pipeline, events, lines, topic, at)
    print_plugins(out, configuration, catalog)
    sample = RowKeySample()
    with out.progress("events") as show_progress:
        for chosen, inputs in given:
            plan, declared = plan_of(configuration, chosen, catalog), configuration.tables.values()
            dry_run = DryRun(plan, declared, asks_registry=topic is not None)
            sample.add(dry_run, inputs, show_progress)
    prefixes = [from_readable(each) for each in prefix or ()]
    tables = analyses(configuration, catalog, sample, regions=regions, prefixes=prefixes, connect=connect)
    if out.is_json:
        out.json({"events": dict(sample.outcomes), "tables": [_plain(each) for each in tables]})
        return
    for each in tables:
        _show(out, each)
    if not tables:
        out.note("no event is written to a table", "yellow")
    for (component, code), number in sample.errors.most_common(_MOST_ERRORS):
        out.note(f"failed: {component}: {code} {number:,}", "yellow")
    out.done(", ".join(f"{number:,} {outcome}" for outcome, number in sample.outcomes.items()) or "no events")
    out.next(command_line(file, "table plan" if tables else "explain"))


def _given(
    configuration: "Configuration",
    pipeline: str | None,
    events: str | None,
    lines: str | None,
    topic: int | None,
    at: str | None,
) -> "Iterator[tuple[Pipeline, Iterable[Given]]]":
    """The pipelines with their events: several only if each reads its own topics."""
    from ingest.api import ConfigError
    from ingest.cli.given import given_by, of_source_files
    from ingest.cli.loading import pipeline_of

    if topic is not None and pipeline is None:
        for each in configuration.pipelines.values():
            given = given_by(each, events, lines, topic, at)
            assert given is not None  # noqa: S101 - for mypy: of `topic`
            yield each, given
        return
    only = pipeline_of(configuration, pipeline)
    given = given_by(only, events, lines, topic, at)
    if given is None and only.source.settings.line_files is None:
        raise ConfigError(
            "there are no events to analyse",
            hint="give --topic N, a raw log with --lines, or JSON lines with --events",
        )
    yield only, of_source_files(only, _FIRST_LINES) if given is None else given


# Text


def _show(out: Output, analysed: "TableAnalysis") -> None:
    keys = analysed.keys
    writes = f"{counted(keys.writes, 'write')} to {counted(keys.rows, 'row')}"
    shortest, longest = keys.lengths.shortest, keys.lengths.longest
    lengths = (
        f"{shortest} to {longest} bytes, median {keys.lengths.median}" if shortest < longest else f"{longest} bytes"
    )
    out.parts((f"{analysed.store}/{analysed.table} ", "bold"), (f"{writes}; row keys have {lengths}", ""))
    columns = ("layout", "#regions", "#without writes", "#busiest region", "#busiest of newest")
    out.table(
        columns,
        [
            (
                name,
                f"{spread.layout.regions:,}",
                f"{spread.empty:,}",
                f"{spread.busiest:.1%}",
                f"{spread.busiest_of_newest:.1%}",
            )
            for name, spread in _layouts(analysed)
        ],
    )
    if keys.current.layout.regions > 1:
        _show_regions(out, keys.current, analysed.regions)
    if keys.prefixes:
        _show_prefixes(out, keys)
    if keys.recommended_splits:
        splits = _yaml(keys.recommended_splits)
        out.line(f"recommended split points: tables: {{{analysed.table}: {{splits: {splits}}}}}", "green")
    for warning in keys.warnings:
        _warn(out, analysed.table, warning)


def _layouts(analysed: "TableAnalysis") -> "Iterator[tuple[str, Spread]]":
    keys = analysed.keys
    layout = keys.current.layout
    is_regular = layout.distribution is not None and layout.splits == keys.even.layout.splits
    if not layout.splits:
        name = "one region"
    elif analysed.is_from_store:
        name = "regions in the store"
    else:
        name = f"as declared: salted, {layout.regions} buckets" if is_regular else "split points of the file"
    yield name, keys.current
    if layout.distribution is None:
        yield "even split points", keys.even
    elif not is_regular:
        yield "one region for each bucket", keys.even
    for spread in keys.salted:
        yield f"salted, {spread.layout.regions} buckets", spread


def _show_regions(out: Output, spread: "Spread", regions: "Sequence[StoredRegion]") -> None:
    """The busiest regions; with servers and sizes if the store reports them."""
    from ingest.amounts import size
    from ingest.reference.readable import readable

    stored = {region.start: region for region in regions}
    order = sorted(range(spread.layout.regions), key=lambda region: (-spread.writes[region], region))
    bounds = [(region, *spread.layout.bounds(region)) for region in order[:_MOST_REGIONS]]

    def details(start: bytes) -> tuple[str, ...]:
        if not stored:
            return ()
        found = stored.get(start)
        return ("", "") if found is None else (size(found.file_bytes + found.memory_bytes), found.server)

    out.table(
        ("region from", "to", "#writes", "#of newest", *(("#size", "server") if stored else ())),
        [
            (
                readable(start) or "(start)",
                "(end)" if stop is None else readable(stop),
                f"{spread.writes[region]:,}",
                f"{spread.newest[region]:,}",
                *details(start),
            )
            for region, start, stop in bounds
        ],
    )
    if len(order) > len(bounds):
        out.line(f"and {counted(len(order) - len(bounds), 'region')} with fewer writes", "dim")


def _show_prefixes(out: Output, keys: "KeyAnalysis") -> None:
    from ingest.reference.readable import readable

    out.table(
        ("prefix", "#writes", "#of all", "#rows", "#regions"),
        [
            (
                readable(count.prefix),
                f"{count.writes:,}",
                f"{count.writes / keys.writes:.1%}",
                f"{count.rows:,}",
                f"{keys.current.layout.regions_of_prefix(count.prefix):,}",
            )
            for count in keys.prefixes
        ],
    )


def _warn(out: Output, table: str, warning: "KeyWarning") -> None:
    from sinks.rowkeys.analysis import WarningKind

    salted = f": tables: {{{table}: {{distribute: {{hash: {_BUCKETS}}}}}}}"
    example = salted if warning.kind is WarningKind.INCREASING_KEYS else ""
    out.note(f'warning: table "{table}": {warning.message}; {warning.hint}{example}', "yellow")


def _yaml(splits: Sequence[bytes]) -> str:
    from ingest.api.notation import to_notation
    from ingest.config.writing import flow, literal, quoted

    return flow(literal([to_notation(split) for split in splits]), quoted)


# JSON


def _plain(analysed: "TableAnalysis") -> dict[str, object]:
    from ingest.api.notation import to_notation

    keys = analysed.keys
    lengths = keys.lengths
    return {
        "store": analysed.store,
        "table": analysed.table,
        "writes": keys.writes,
        "rows": keys.rows,
        "key_bytes": {"shortest": lengths.shortest, "median": lengths.median, "longest": lengths.longest},
        "current": {"from": "store" if analysed.is_from_store else "file"} | _plain_spread(keys.current),
        "stored_regions": [
            {
                "start": to_notation(region.start),
                "server": region.server,
                "file_bytes": region.file_bytes,
                "memory_bytes": region.memory_bytes,
            }
            for region in analysed.regions
        ],
        "even": _plain_spread(keys.even),
        "salted": [{"buckets": spread.layout.regions} | _plain_spread(spread) for spread in keys.salted],
        "recommended_splits": [to_notation(split) for split in keys.recommended_splits],
        "prefixes": [
            {
                "prefix": to_notation(count.prefix),
                "writes": count.writes,
                "rows": count.rows,
                "regions": keys.current.layout.regions_of_prefix(count.prefix),
            }
            for count in keys.prefixes
        ],
        "warnings": [
            {"kind": warning.kind.value, "message": warning.message, "hint": warning.hint} for warning in keys.warnings
        ],
    }


def _plain_spread(spread: "Spread") -> dict[str, object]:
    from ingest.api.notation import to_notation

    return {
        "regions": spread.layout.regions,
        "without_writes": spread.empty,
        "busiest": round(spread.busiest, 4),
        "busiest_of_newest": round(spread.busiest_of_newest, 4),
        "splits": [to_notation(split) for split in spread.layout.splits],
        "writes": spread.writes,
        "newest": spread.newest,
    }
