"""Applies a changed pipeline file to a running service: only the pipelines that changed are replaced."""

import dataclasses
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from ingest import failpoint
from ingest.api import ConfigError, IngestError
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.changes import is_changed
from ingest.config.model import Configuration
from ingest.dry_run.apart import Version, diff_apart
from ingest.dry_run.shortened import Limit
from ingest.dry_run.source_records import SAMPLE_BYTES, sample_of
from ingest.observe.log_level import LogLevel
from ingest.observe.logs import logger, set_level, traceback_of
from ingest.plan.assemble import plan_of, sink_checks
from ingest.plan.plan import Plan
from ingest.service.building import build_pipeline, builder, check_source, checkpoint_of, connect, report_unbuilt
from ingest.service.control import Control, Phase, ReloadStatus
from ingest.service.pipeline import LivePipeline
from ingest.service.shared import Shared
from ingest.service.state_wait import StartStoppedError, StateWait
from ingest.service.stores import refuse_cluster
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.reading import Session

STOP_S = 5.0
"""On a stop, time for a pipeline that is being built; its store or disk may hang."""
SHOWN = 10
"""Rows of a table and events of a kind whose differences a check keeps."""
DIFFERENCES_BYTES = 8 << 20
"""Most of what a check finds, which the service keeps and sends in one answer."""
_WITHOUT_CHECK = "a reload without a check takes the file: 'attr2hbase reload'"
_log = logger(__name__)


class Reloader:
    """
    The reloads of a service, one at a time.

    A file is read, checked and compared in a thread. If it is refused, nothing has changed. Else the supervisor ends
    the pipelines that changed or are gone, each after its running batch, and starts those that `build` returns.

    Called by the supervisor's thread.

    Args:
        shared: of the pipelines that run now.
        read: the checked file and its catalog.
        attach: attaches a pipeline to the Spark session.
        opened: closes the pipelines at the end of the service.
        unbuilt: pipeline -> why it could not be built; a reload that builds it again removes or replaces the error.
        wait: for state on a cluster that does not answer while pipelines are built.
    """

    def __init__(  # noqa: PLR0913 - the parts of a service that it works with
        self,
        shared: Shared,
        read: Callable[[], tuple[Configuration, Catalog]],
        *,
        control: Control,
        session: Session,
        attach: Callable[[LivePipeline], None],
        opened: ExitStack,
        unbuilt: MutableMapping[str, BaseException],
        wait: StateWait,
    ) -> None:
        self._shared = shared
        self._read = read
        self._control = control
        self._session = session
        self._attach = attach
        self._unbuilt = unbuilt
        self._wait = wait
        self._step = failpoint.point("reload")
        self._running: frozenset[str] = frozenset()
        self._next: tuple[Shared, dict[str, Plan]] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._built: list[LivePipeline] = []
        self._replaced: dict[str, LivePipeline] = {}  # by name, only the newest: the supervisor closes those it ends
        opened.callback(self._close)

    @property
    def shared(self) -> Shared:
        """Of the pipelines that run now, or are being built."""
        return self._shared

    @property
    def status(self) -> ReloadStatus:
        """How far the newest reload has come."""
        return self._control.reload_status

    def begin(self, running: Iterable[str]) -> None:
        """
        Read the file in a thread, for the reload that is requested; none may be active.

        Args:
            running: names of the pipelines that have not failed; the others are built again, changed or not.
        """
        self._running = frozenset(running)
        self._control.reload_status = dataclasses.replace(self.status, phase=Phase.READING, at_ms=now_ms())
        self._run(self._prepare, "reload")

    @property
    def is_active(self) -> bool:
        """Whether a reload runs."""
        return self.status.phase.is_active

    @property
    def is_working(self) -> bool:
        """Whether its thread runs; nothing else may be called meanwhile."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def leaving(self) -> frozenset[str]:
        """Names of the pipelines that have to end before `build`."""
        return frozenset((*self.status.changed, *self.status.removed))

    def build(self) -> None:
        """Build the changed and the new pipelines in a thread; the old ones are closed."""
        self._control.reload_status = dataclasses.replace(self.status, phase=Phase.BUILDING)
        self._run(self._build, "reload-build")

    def take(self) -> Sequence[LivePipeline]:
        """The pipelines that were built, to be started; the reload is done."""
        built, self._built = self._built, []
        self._control.reload_status = dataclasses.replace(self.status, phase=Phase.DONE)
        _log.info("reloaded", changed=self.status.changed, added=self.status.added, removed=self.status.removed)
        return built

    def stop(self) -> None:
        """Build no more pipelines; bounded in time. Those that were built are closed at the end of the service."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _run(self, action: Callable[[], None], name: str) -> None:
        self._thread = threading.Thread(target=action, name=name, daemon=True)
        self._thread.start()

    def _prepare(self) -> None:
        try:
            self._compare(*self._read())
        except Exception as error:  # noqa: BLE001 - the service continues with the old file, whatever is wrong
            report = getattr(error, "report", None)
            hide = self._shared.configuration.masks.hide
            reason = hide(error.message if isinstance(error, IngestError) else repr(error))
            hint = hide((isinstance(error, IngestError) and error.hint) or "")
            self._control.reload_status = dataclasses.replace(
                self.status,
                phase=Phase.REFUSED,
                reason=reason,
                hint=hint,
                problems=() if report is None else tuple(report.to_json()),
            )
            _log.error(
                "reload refused: the service continues with the old file", reason=reason, exc_info=traceback_of(error)
            )

    def _compare(self, configuration: Configuration, catalog: Catalog) -> None:
        old = self._shared.configuration
        # one object for the life of the service: log, status and metrics mask with that of the start
        old.masks.include(configuration.masks)
        configuration = dataclasses.replace(configuration, masks=old.masks)
        refuse_changes(old, configuration)
        plans = {name: plan_of(configuration, each, catalog) for name, each in configuration.pipelines.items()}
        self._check_session(configuration, catalog)
        names = configuration.pipelines.keys()
        common = old.pipelines.keys() & names
        edited = {name for name in common if is_changed(name, old, configuration)}
        changed = edited | (common - self._running)
        added = names - old.pipelines.keys()
        for plan in (plans[name] for name in sorted(changed | added)):
            for sink, check in sink_checks(plan, configuration.pipelines[plan.pipeline].source.settings):
                connect(check, f'sink "{sink.name}" of pipeline "{plan.pipeline}"', once=False)
        shared = dataclasses.replace(self._shared, configuration=configuration, catalog=catalog)
        # not those that have only failed: the cause may be there still, and must not hold up the others
        for name in sorted(edited | added):
            connect(
                partial(check_source, shared, configuration.pipelines[name]), f'source of pipeline "{name}"', once=False
            )
        if self.status.check:
            self._check_results(configuration, {name: plans[name] for name in sorted(edited)})
        self._shared.stores.prepare(configuration)
        self._next = shared, plans
        self._step()
        self._control.reload_status = dataclasses.replace(
            self.status,
            phase=Phase.REPLACING,
            changed=tuple(sorted(changed)),
            added=tuple(sorted(added)),
            removed=tuple(sorted(old.pipelines.keys() - names)),
        )

    def _check_results(self, configuration: Configuration, plans: Mapping[str, Plan]) -> None:
        """
        Compare what the changed pipelines do to events with what the running ones do.

        Raises:
            ConfigError: a result differs, or there are no records to compare them with.
            ComparisonFailedError: they could not be compared.
            SourceUnavailableError: the records cannot be read.
        """
        old, count = self._shared.configuration, self.status.check
        limit = Limit(SHOWN, DIFFERENCES_BYTES // max(1, len(plans)))
        found = []
        for name, plan in plans.items():
            sample = sample_of(configuration.pipelines[name], count, _WITHOUT_CHECK)
            if not sample.given:
                raise ConfigError(
                    f'the source of pipeline "{name}" has no records to check its results with', hint=_WITHOUT_CHECK
                )
            running = Version(plan_of(old, old.pipelines[name], self._shared.catalog), old.tables)
            new = Version(plan, configuration.tables)
            difference = diff_apart(running, new, sample.given, limit, is_stopping=self._stopping.is_set)
            limit_bytes = SAMPLE_BYTES if sample.is_cut else None
            found.append({"pipeline": name, "limit_bytes": limit_bytes, **old.masks.hidden(difference)})
        self._control.compared = self.status.id, found
        self._control.reload_status = dataclasses.replace(self.status, differences=tuple(map(_numbers, found)))
        if differing := [each["pipeline"] for each in found if each["differs"]]:
            names = ", ".join(f'"{name}"' for name in differing)
            raise ConfigError(f"the check has found differences in {names}", hint=_WITHOUT_CHECK)

    def _check_session(self, configuration: Configuration, catalog: Catalog) -> None:
        running = self._shared.configuration.pipelines.values()
        known = {pipeline.source.kind for pipeline in running}
        properties = {each for pipeline in running for each in pipeline.source.settings.java_properties().items()}
        for pipeline in configuration.pipelines.values():
            missing = pipeline.source.settings.java_properties().items() - properties
            if missing:
                raise ConfigError(
                    f'source "{pipeline.source.kind}" of pipeline "{pipeline.name}" needs Java processes with '
                    + ", ".join(f"{name}={value}" for name, value in sorted(missing)),
                    hint="restart the service",
                )
            if pipeline.source.kind not in known and catalog.load("sources", pipeline.source.kind).jars():
                raise ConfigError(
                    f'source "{pipeline.source.kind}" of pipeline "{pipeline.name}" needs jars that this Spark session '
                    "does not have",
                    hint="restart the service",
                )

    def _build(self) -> None:
        assert self._next is not None  # noqa: S101 - for mypy: set by `_compare`
        shared, plans = self._next
        self._shared = shared
        self._step()
        for name in self.status.removed:
            shared.retention.remove(name)  # first, since it reports to the others
            shared.health.remove(name)
            shared.metrics.remove(name)
            shared.activity.remove(name)
            self._control.remove(name)
            self._unbuilt.pop(name, None)
        set_level(LogLevel(shared.configuration.service.log.level))
        failed = {}
        shared.stores.reconfigure(shared.configuration, plans.values())
        for name in (*self.status.changed, *self.status.added):
            if self._stopping.is_set():
                return
            shared.metrics.add(name)
            try:
                pipeline = self._attempt(name, partial(build_pipeline, shared, plans[name]))
            except StartStoppedError:
                return
            if pipeline is None:
                failed[name] = shared.configuration.masks.hide(str(self._unbuilt[name]))
            else:
                self._built.append(pipeline)
                self._step()
        self._step()
        self._control.reload_status = dataclasses.replace(self.status, failed=failed)

    def locked(self, name: str) -> Checkpoint:
        """
        The checkpoint of a pipeline that could not be built, locked for a loan.

        Raises:
            ConflictError: another process runs the pipeline.
        """
        checkpoint = checkpoint_of(self._shared, self._shared.configuration.pipelines[name])
        checkpoint.lock()
        return checkpoint

    def rebuild(self, name: str, checkpoint: Checkpoint) -> LivePipeline | None:
        """
        Build a pipeline of the service on its locked checkpoint, after a loan; None, which is reported, if that fails.

        Called by the thread of the jobs.
        """
        shared = self._shared
        plan = plan_of(shared.configuration, shared.configuration.pipelines[name], shared.catalog)
        with suppress(StartStoppedError):
            return self._attempt(name, builder(shared, plan, None, checkpoint))
        return None

    def _attempt(self, name: str, build: Callable[[], LivePipeline]) -> LivePipeline | None:
        """The pipeline that was built, for the supervisor; None, which is reported, if it cannot be built."""
        self._unbuilt.pop(name, None)
        try:
            return self._wait.result(partial(self._pipeline, name, build), [name])
        except StartStoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - this pipeline fails, the others run
            self._unbuilt[name] = error
            report_unbuilt(self._shared, name, error)
            return None

    def _pipeline(self, name: str, build: Callable[[], LivePipeline]) -> LivePipeline:
        """A pipeline of this service; if an error ends this, its checkpoint and stores are free again."""
        self._control.add(name)
        with ExitStack() as building:
            pipeline = build()
            building.callback(pipeline.close)
            refuse_cluster(self._shared.stores.in_use(), str(self._session.sparkContext.master))
            self._attach(pipeline)
            building.pop_all()
        self._replaced[name] = pipeline
        return pipeline

    def _close(self) -> None:
        self.stop()
        for pipeline in list(self._replaced.values()):
            pipeline.close()


def refuse_changes(old: Configuration, new: Configuration) -> None:
    """
    Refuse a file whose changes need a restart.

    Raises:
        ConfigError: it changes what all pipelines share; the message names the sections.
    """
    shared = {
        "state_dir": ((old.state_url, old.local_dir), (new.state_url, new.local_dir)),
        "plugins": ([each.module for each in old.plugins], [each.module for each in new.plugins]),
        "spark": (old.spark, new.spark),
        "service: http": (old.service.http, new.service.http),
        "service: log: format": (old.service.log.format, new.service.log.format),
        "service: stop_timeout": (old.service.stop_timeout, new.service.stop_timeout),
    }
    changed = [f'"{name}"' for name, (before, after) in shared.items() if before != after]
    if changed:
        raise ConfigError(f"{', '.join(changed)} cannot be reloaded", hint="restart the service")


def _numbers(found: Mapping[str, Any]) -> dict[str, Any]:
    """What of a difference everybody may see who reads the endpoint: no contents of events."""
    totals: dict[str, Counter[str]] = {"rows": Counter(), "cells": Counter()}
    for table in found["tables"]:
        for what, total in totals.items():
            total.update(table[what])
    return {
        **{name: found[name] for name in ("pipeline", "limit_bytes", "events", "differs", "outcomes")},
        **{what: dict(total) for what, total in totals.items()},
    }
