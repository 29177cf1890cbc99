"""Runs a configuration as a service: opens what its pipelines share, and closes it in reverse order."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ingest import failpoint
from ingest.api import ConfigError, ConflictError, IngestError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.durable import StatePath
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.plan.plan import Plan
from ingest.plugins.surfaces import at, metrics_of, surfaces_of
from ingest.service.archive.watch import ArchiveWatch
from ingest.service.control import Control
from ingest.service.endpoint.access import access_of
from ingest.service.endpoint.address import ServiceAddress
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.job_kinds import SCHEDULED
from ingest.service.jobs.job_run import JobContext
from ingest.service.jobs.loans import Loans
from ingest.service.jobs.periodic import Periodic
from ingest.service.jobs.schedule import Schedule
from ingest.service.jobs.scheduler import Jobs
from ingest.service.kafka.retention import RetentionWatches
from ingest.service.lifecycle import Stop
from ingest.service.member import Member
from ingest.service.observer import Totals
from ingest.service.pages import Pages
from ingest.service.pauses import Pauses
from ingest.service.pipeline import LivePipeline
from ingest.service.reload import Reloader
from ingest.service.shared import Shared
from ingest.service.startup import build_pipelines
from ingest.service.state_wait import StartStoppedError, StateWait
from ingest.service.stores import SharedStores, refuse_cluster
from ingest.service.supervisor import Supervisor
from ingest.service.systemd import ServiceManager
from ingest.service.tables import OwnerOptions
from ingest.spark.errors import JvmLostError
from ingest.spark.jvm_memory import jvm_memory
from ingest.spark.session import close_session, forget_java, is_alive, is_submitted, max_tasks, open_session
from ingest.spark.signals import forward_signals
from ingest.spark.state import checkpoint_folder, java_properties, session_options, state_of
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.reading import Session
from ingest.spark.streaming.timed_caller import TimedCaller
from sinks import BUILTIN_FEATURES

JVM_MEMORY_S = 10.0
"""Time between two measurements of the memory of Spark's JVM, each of a few milliseconds."""
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """
    Options of one run, which are not part of the configuration.

    Attributes:
        once: read the existing records, then end.
        start_from: start position without a checkpoint: group, earliest, latest or a time; None for the source's
            `start`.
        follow: called with the totals of a pipeline after each durable batch.
        dropped_lines: returns the number of log lines dropped because stderr was not read.
        owner: for tables with deferred updates.
    """

    once: bool = False
    start_from: str | None = None
    follow: Callable[[str, Totals], None] = field(default=lambda _pipeline, _totals: None)
    dropped_lines: Callable[[], int] = field(default=lambda: 0)
    owner: OwnerOptions = field(default_factory=OwnerOptions)


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The result of a service that has ended.

    Attributes:
        totals: durable batches of each pipeline.
        errors: of the pipelines that failed.
        exit_code: 0, 130 after SIGINT, or the first error's.
        paused: names of the pipelines that are paused.
        explained: pipelines and their micro-batches that have ended Spark's JVM, and that the next start goes around.
        in_force: the configuration at the end, after reloads, with its catalog; None if the service has not run.
    """

    totals: Mapping[str, Totals]
    errors: Sequence[BaseException]
    exit_code: int
    paused: Sequence[str] = ()
    explained: frozenset[tuple[str, int]] = frozenset()
    in_force: tuple[Configuration, Catalog] | None = None


def run(configuration: Configuration, catalog: Catalog, options: RunOptions, stop: Stop) -> Outcome:
    """
    Run all pipelines until they end or a stop is requested; if one cannot start, the others still run.

    If Spark's JVM dies and a start goes around what it was reading, Spark is started again, once for each micro-batch.

    Raises:
        ConfigError: the configuration or the options are invalid; nothing was read.
        CatalogError: a component cannot be imported or created.
        IngestError: no pipeline can start (their first error), or Spark or the HTTP endpoint cannot.
    """
    recovery = _recovery()
    if is_submitted():
        forward_signals(stop.forwarded)
    totals: dict[str, Totals] = {}
    explained: frozenset[tuple[str, int]] = frozenset()
    while True:
        outcome = _run(configuration, catalog, options, stop, recovery, totals)
        if outcome.explained <= explained or stop.requested.is_set():
            return outcome
        explained |= outcome.explained
        if outcome.in_force is not None:
            configuration, catalog = outcome.in_force
        _log.warning("Spark is started again, without what has ended its Java process", batches=sorted(explained))
        forget_java()
        # the others resume at their checkpoints
        is_new = any(not Checkpoint(checkpoint_folder(configuration, name)).exists for name in configuration.pipelines)
        options = options if is_new else replace(options, start_from=None)


def _run(
    configuration: Configuration,
    catalog: Catalog,
    options: RunOptions,
    stop: Stop,
    recovery: Callable[[], None],
    totals: dict[str, Totals],
) -> Outcome:
    """As `run`, with one JVM; `totals` are those of the runs before."""
    state = _state(configuration, stop)
    if state is None:
        return _stopped(configuration, stop)
    plans = {name: plan_of(configuration, pipeline, catalog) for name, pipeline in configuration.pipelines.items()}
    with ExitStack() as opened:
        shared = _shared(configuration, catalog, plans, options, opened, totals)
        wait = StateWait(state, stop, shared.health, once=options.once)
        try:
            place = configuration.path if configuration.path == "<stdin>" else str(Path(configuration.path).absolute())
            control = Control(Pauses(state), configuration.pipelines, can_reload=not options.once, file=place)
            jobs, conflict = _serve(configuration, options, shared, control, opened)
            # commands arrive now: one that has found no service has recorded its pause before, or is repeated
            wait.result(control.read_pauses, configuration.pipelines)
            pipelines, unbuilt = build_pipelines(shared, plans, options.start_from, wait, opened)
        except StartStoppedError:
            _log.info("stopped while the start waited for the state", state=str(state))
            return _stopped(configuration, stop)
        if unbuilt and not pipelines:
            raise next(iter(unbuilt.values()))
        if conflict is not None:
            # last: if a second process runs the same file, the error of the locked checkpoint is clearer
            raise conflict
        try:
            session = _session(configuration, pipelines)
        except Exception as error:
            if not stop.requested.is_set():
                raise
            # the signal also ended the JVM, which did not ignore it yet
            _log.info("stopped while Spark started", reason=str(error))
            errors = [*unbuilt.values()]
            return Outcome({name: Totals() for name in plans}, errors, _exit_code(errors, stop))
        later = ExitStack()  # pipelines of reloads: closed as the others, after the session
        opened.enter_context(later)
        opened.callback(close_session, session)
        ask, ask_state = TimedCaller(), TimedCaller()
        refuse_cluster(shared.stores.in_use(), str(session.sparkContext.master))
        for pipeline in pipelines:
            pipeline.attach(session, ask, ask_state)
        reloader = None
        if not options.once:
            read = partial(_read, configuration.path)
            attach = partial(LivePipeline.attach, session=session, ask=ask, ask_state=ask_state)
            reloader = Reloader(
                shared, read, control=control, session=session, attach=attach, opened=later, unbuilt=unbuilt, wait=wait
            )
        loans = Loans[LivePipeline]() if reloader is None else Loans(reloader.rebuild, reloader.locked)
        supervisor = Supervisor(
            [Member(pipeline) for pipeline in pipelines],
            control,
            reloader,
            once=options.once,
            jobs=jobs,
            loans=loans,
            stop=stop,
            stop_timeout_s=configuration.service.stop_timeout,
            is_alive=lambda: ask(lambda: is_alive(session), default=True),
            unresponsive_s=lambda: ask.pending_s,
            service_manager=ServiceManager.of_environment(os.environ),
        )
        opened.callback(jobs.close)
        jobs.start(
            JobContext(
                shared,
                session,
                max_tasks(session),
                busy_s=lambda: sum(pipeline.query.busy_s() for pipeline in supervisor.pipelines),
                loans=loans,
            )
        )
        recovery()
        with Periodic("jvm-memory", JVM_MEMORY_S, partial(_measure_jvm, shared, session), join_s=0.0):
            failed = supervisor.run()
        errors = [*unbuilt.values(), *failed]
        ended = {name: Totals() for name in plans} | shared.totals
        paused = list(filter(control.is_paused, ended))
        last = shared if reloader is None else reloader.shared
        return Outcome(
            ended,
            errors,
            _exit_code(errors, stop),
            paused,
            _explained(supervisor.pipelines, failed),
            (last.configuration, last.catalog),
        )


def _measure_jvm(shared: Shared, session: Session) -> None:
    """Called by a thread of its own: a JVM that hangs answers never."""
    memory = jvm_memory(session)
    if memory is not None:
        shared.metrics.jvm(memory)
        shared.activity.jvm(memory)


def _explained(pipelines: Iterable[LivePipeline], errors: Iterable[BaseException]) -> frozenset[tuple[str, int]]:
    """As of `Outcome`; nothing if another program starts Spark or this service again."""
    is_lost = any(isinstance(error, JvmLostError) for error in errors)
    if not is_lost or is_submitted() or ServiceManager.is_in(os.environ):
        return frozenset()
    return frozenset(found for pipeline in pipelines if (found := pipeline.explains_death()) is not None)


def _state(configuration: Configuration, stop: Stop) -> StatePath | None:
    """The root of the state, for which Spark's JVM may have to start; None if a signal ended that JVM."""
    try:
        return state_of(configuration)
    except Exception as error:
        if not stop.requested.is_set():
            raise
        _log.info("stopped while Spark started", reason=str(error))
        return None


def _shared(
    configuration: Configuration,
    catalog: Catalog,
    plans: Mapping[str, Plan],
    options: RunOptions,
    opened: ExitStack,
    totals: dict[str, Totals],
) -> Shared:
    hide = configuration.masks.hide
    activity = Activity(mask=hide)
    metrics = Metrics(
        plans,
        dropped_lines=options.dropped_lines,
        hide=hide,
        of_features=metrics_of(surfaces_of(BUILTIN_FEATURES)),
        on_lag=activity.lag,
        on_lag_unknown=activity.lag_unknown,
    )
    return Shared(
        configuration,
        catalog,
        metrics,
        Health(plans, on_change=metrics.state, mask=hide),
        activity,
        SharedStores(configuration, plans.values()),
        opened.enter_context(closing(RetentionWatches(metrics, activity))),
        options.once,
        options.follow,
        options.owner,
        totals,
    )


def _stopped(configuration: Configuration, stop: Stop) -> Outcome:
    """The outcome of a service that was stopped before it has built a pipeline."""
    return Outcome({name: Totals() for name in configuration.pipelines}, [], stop.exit_code)


def _session(configuration: Configuration, pipelines: Collection[LivePipeline]) -> Session:
    # spark-submit has added the jars
    jars = [] if is_submitted() else list(dict.fromkeys(jar for pipeline in pipelines for jar in pipeline.jars))
    return open_session("attr2hbase", **session_options(configuration, jars, java_properties(configuration)))


def _read(path: str) -> tuple[Configuration, Catalog]:
    """The file as it is now."""
    if path in ("-", "<stdin>"):
        raise ConfigError("the file was read from stdin and cannot be read again", hint="start the service with a file")
    configuration = load(path, env=os.environ, lookup=Catalog())
    return configuration, Catalog(configuration.plugins)


def _recovery() -> Callable[[], None]:
    """The failpoint of a start, after a check that all armed failpoints exist."""
    armed = failpoint.check()
    if armed:
        _log.warning("failpoints are armed: this service fails on purpose", points=armed)
    return failpoint.point("recovery")


def _serve(
    configuration: Configuration, options: RunOptions, shared: Shared, control: Control, opened: ExitStack
) -> tuple[Jobs, ConflictError | None]:
    """
    Start the endpoint. If another process uses the port, or another service the folder in which the commands find the
    address, a `--once` run continues without it.

    Returns:
        The jobs that it controls, and the error if another process uses one of the two.
    """
    refusal = "this run ends once it has read the existing records" if options.once else ""
    jobs = Jobs(shared.metrics, hide=configuration.masks.hide, refusal=refusal)
    if not options.once:
        for kind in SCHEDULED:
            on_change = partial(kind.schedule_changed, shared.metrics)
            opened.enter_context(Schedule(f"{kind.kind} schedule", jobs, kind.scheduled, on_change))
        for path in (path for surface in surfaces_of(BUILTIN_FEATURES) for path in surface.watches):
            opened.enter_context(at(path)(lambda: jobs.shared, shared.metrics))
        opened.enter_context(ArchiveWatch(lambda: jobs.shared, shared.metrics))
    access, http = access_of(configuration), configuration.service.http
    pages = Pages(shared.health, shared.activity, shared.metrics.render, control, jobs, access, shared.taps)
    endpoint = HttpEndpoint(http.listen, pages, http.tls)
    address = ServiceAddress(configuration.local_dir)
    try:
        # a second service must not take the address by which the commands find the running one
        address.take()
        opened.callback(address.release)
        endpoint.start()
    except ConflictError as error:
        if not options.once:
            return jobs, error
        _log.warning("the metrics of this run are not served", reason=str(error))
    else:
        address.publish(endpoint.url)
        _log.info("metrics, health and commands are served", url=endpoint.url)
    opened.callback(endpoint.stop)
    return jobs, None


def _exit_code(errors: Sequence[BaseException], stop: Stop) -> int:
    for error in errors:
        return error.exit_code if isinstance(error, IngestError) else 1
    return stop.exit_code
