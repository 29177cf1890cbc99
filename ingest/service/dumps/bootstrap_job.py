"""The bootstrap as a job: a table is loaded from a dump into any store, and the changes since from its feed."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.amounts import counted
from ingest.api import CatalogError, ConfigError, IngestError, IntegrityError, Model, option
from ingest.api.notation import from_notation, readable, to_notation
from ingest.catalog import Catalog
from ingest.config import Kind, bind, load, read
from ingest.config.model import Configuration
from ingest.config.nodes import plain
from ingest.plugins.loader import Plugin
from ingest.service.dumps.bootstrap import BootstrapRequest, SourceTable, TableOfStore, opened_bootstrap
from ingest.service.jobs.command import JobCommand, Subject, Summary
from ingest.service.jobs.job import Job, Steps
from ingest.service.jobs.job_run import MAX_DETAILS, Progress
from ingest.service.jobs.option_types import LocalPath, Value
from ingest.service.jobs.place import Place
from sinks.bootstrap.run import Verified

_SHOWN = 5  # keys of rows that differ
_OF_LOADS = ("rows", "files", "refused", "unstaged")
"""As the metrics `attr2hbase_bulk_load_…_total`: rows that were loaded, their files, and chunks that went as calls."""
_NOT_FILLED_IN = (Kind.UNDEFINED_VARIABLE, Kind.UNDEFINED_SECRET)


class BootstrapOptions(Model):
    """What is loaded, and how."""

    dump: LocalPath = option("Root of the dumps: a folder or a URL.")
    at: Value = option("The dump, by its name or start; without it the newest complete one.", default="")
    table: Value = option("Table in the dump; without it the table of --feed, else of --to.", default="")
    feed: LocalPath = option(
        "Then apply the changes since the dump: FILE2:TABLE, the pipeline file that declares the dumped table, and its "
        "name there.",
        default="",
    )
    concurrent: bool = option(
        "Apply the feed while the rows are loaded, if loading takes longer than the feed keeps its changes.",
        default=False,
    )
    no_verify: bool = option("Do not compare the rows at the end.", default=False)

    @model_validator(mode="after")
    def _has_feed(self) -> Self:
        if self.concurrent and not self.feed:
            raise PydanticCustomError(
                "no_feed", "--concurrent applies a feed, and none is named; add --feed FILE2:TABLE"
            )
        if self.feed and not all(self.feed.partition(":")):
            raise PydanticCustomError(
                "no_table", '"{feed}" names no table of a file; write FILE2:TABLE', {"feed": self.feed}
            )
        return self


class BootstrapJob(Job[BootstrapOptions]):
    """
    Loads a table from a dump. It may be killed at any moment, and run again.

    Args:
        subject: `STORE:TABLE` that is written.
        options: what is loaded.
    """

    kind = "bootstrap"
    needs_slots = False
    options_model = BootstrapOptions
    command = JobCommand(
        help="""
        Load a table from a dump into a table of any store, with the times of all cells, and then the changes since.

        FILE declares the store that is written; the table must have no rows. With --feed, the changes are read from the
        positions that the dump has recorded, up to the newest complete micro-batch. At the end every row is compared
        with the source, times included; without --feed, with the dump.

        It can be interrupted: the same command resumes. When it has ended, the same command applies the changes since.
        Exit code 5 if rows differ.

        If the service runs, it loads the table beside its pipelines, and reads the dump and FILE2 itself; interrupting
        the command (Ctrl-C) cancels it. Its other jobs wait meanwhile: for a large table in HBase, add --own-process.

        Example: attr2hbase dump bootstrap -f laptop.yaml --dump /backups --to local:orders
        Example: attr2hbase dump bootstrap -f new.yaml --dump /backups --feed old.yaml:orders --to hbase:orders
        """,
        subject=Subject.TO,
        advances=("rows", "rows"),
        does="loads the table",
        resumes="run the same command again, which resumes it",
    )

    def checked(self, configuration: Configuration) -> None:
        """Refuse a store that the file does not declare."""
        target = TableOfStore.of(self.subject, configuration)
        self._pipelines = frozenset(
            name
            for name, pipeline in configuration.pipelines.items()
            if any(sink.settings.store_name == target.store for sink in pipeline.sinks)
        )

    def steps(self, place: Place) -> Steps:
        """
        Load the table, and compare it; see `opened_bootstrap` and `sinks.bootstrap.run.Bootstrap`.

        Raises:
            ConflictError: it was cancelled.
            IngestError: as above.
        """
        options, target = self.options, TableOfStore.of(self.subject, place.configuration)
        source = _source_of(options.feed, place)
        dumped = options.table or (target.table if source is None else source.table)
        request = BootstrapRequest(options.dump, options.at or None, dumped, target, is_concurrent=options.concurrent)
        unpinned: list[str] = []
        with (
            _masked(source),
            opened_bootstrap(place, request, source, on_unpinned=unpinned.append) as opened,
            place.resting(self.kind) as rest,
        ):
            run, total, table = opened.run, opened.rows or 0, opened.target.table

            def progress(**more: Any) -> Progress:
                loaded = run.progress
                about: dict[str, Any] = {"dump": opened.dump, "table": loaded.source, "unpinned": "".join(unpinned)}
                about |= {"has_feed": bool(loaded.feed_id), "changes": loaded.changes}
                loads = opened.target.counted
                about["bulk_load"] = {name: loads[f"bulk_load_{name}", table] for name in _OF_LOADS}
                rows = loaded.checksum.rows
                return Progress(rows, total, {**about, "rows": rows, "cells": loaded.checksum.cells, **more})

            run.on_progress = lambda _rows: rest()
            for part in (run.loading, run.following):
                for _ in part():
                    yield progress()
            yield progress(**({} if options.no_verify else {"verified": _plain(run.verify(lambda _rows: rest()))}))

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:  # noqa: ARG002 - there is none
        """What was loaded, and whether it is equal."""
        verified = content.get("verified")
        hidden = {"has_feed", "unpinned"} | ({"verified"} if verified is None else set())
        plain = {name: value for name, value in content.items() if name not in hidden}
        notes = [f"the dump may expire while it is read: {content['unpinned']}"] if content["unpinned"] else []
        applied = f", {counted(content['changes'], 'change')} applied" if content["has_feed"] else ""
        files = content["bulk_load"]
        if files["files"]:
            applied += f"; {counted(files['rows'], 'row')} in {counted(files['files'], 'file')}"
        if files["unstaged"]:
            notes.append("rows were written in calls, since no file could be written to the folder `staging`")
        if files["refused"]:
            notes.append("rows were written in calls, since HBase had not loaded their files; its log says why")
        rows = f'{counted(content["rows"], "row")} of table "{content["table"]}"'
        done = f"{rows} in dump {content['dump']} loaded into {self.subject}{applied}"
        if verified is None:
            return Summary(plain, notes=[*notes, "the rows were not compared"], done=done)
        one, other, again = verified["source"], verified["target"], verified["compared_again"]
        if verified["equal"]:
            more = f"; {counted(again, 'row')} compared again" if again else ""
            equal = f"{counted(other['rows'], 'row')} equal, times included: {other['digest']}{more}"
            return Summary(plain, notes=notes, done=f"{done}\n{equal}")
        notes.append(f"the tables differ: {counted(one['rows'], 'row')} in the source, {other['rows']:,} in the target")
        notes += [f"  row {readable(from_notation(key))}" for key in verified["differing"][:_SHOWN]]
        if (more_rows := verified["differing_rows"] - _SHOWN) > 0:
            notes.append(f"  and {more_rows:,} more")
        return Summary(plain, notes=notes, done=done, exit_code=IntegrityError.exit_code)


class _OfService(Catalog):
    """Of a file that a request names: a service runs the code of its own file alone."""

    def with_plugins(self, plugins: Sequence[Plugin]) -> Catalog:
        """Refuse them."""
        raise CatalogError(
            f'the service does not load the plugin "{plugins[0].module}" of another file', hint="add --own-process"
        )


def _source_of(feed: str, place: Place) -> SourceTable | None:
    """The table with the feed, in another file; None without one."""
    if not feed:
        return None
    file, _, table = feed.partition(":")
    if Path(file).resolve() == Path(place.configuration.path).resolve():
        return SourceTable(place.configuration, place.catalog, table)
    configuration = _of_request(file) if place.is_service else load(file, env=os.environ, lookup=Catalog())
    return SourceTable(configuration, Catalog(configuration.plugins), table)


def _of_request(file: str) -> Configuration:
    """
    A file that a request names: the service fills in no variable and no secret, else whoever may send requests could
    send a secret of the service to a server of their own, as its password there, or run a command of `secrets`.
    """
    bare, filled = read(file, {}, is_inert=True), read(file, os.environ, is_inert=True)
    missing = next((each for each in bare.problems if each.kind in _NOT_FILLED_IN), None)
    if missing is not None or plain(bare.root) != plain(filled.root):
        place = f"{missing.location}: " if missing is not None else f"{file}: "
        raise ConfigError(
            f"{place}the service fills in the variables and secrets of its own file alone",
            hint="write the values into this file, or add --own-process",
        )
    return bind(bare, _OfService())


@contextmanager
def _masked(source: SourceTable | None) -> Iterator[None]:
    """Mask the secrets of the file of the source in errors."""
    try:
        yield
    except IngestError as error:
        if source is not None:
            hide = source.configuration.masks.hide
            error.message, error.hint = hide(error.message), None if error.hint is None else hide(error.hint)
        raise


def _plain(verified: Verified | None) -> dict[str, Any] | None:
    if verified is None:
        return None
    return {
        "equal": verified.is_equal,
        "source": verified.source.to_json(),
        "target": verified.target.to_json(),
        "compared_again": verified.recompared,
        "differing_rows": len(verified.differing),
        "differing": [to_notation(key) for key in verified.differing[:MAX_DETAILS]],
    }
