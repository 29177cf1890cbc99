"""From a configuration to a running service: everything is opened here, in order, and closed in reverse."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from ingest import failpoint
from ingest.api import ConflictError, Disposition, IngestError
from ingest.build import plan_of
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.queue import DeadLetterQueue
from ingest.observe.health import Health
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.parcel import packed
from ingest.receipt import Counts
from ingest.service.dead_letters import dead_letter_queue
from ingest.service.http import HttpEndpoint
from ingest.service.lifecycle import Stop
from ingest.service.sources import LiveSource, live_source, start_places
from ingest.service.stores import driver_stores, family_registry, incoming_folder, refuse_cluster
from ingest.service.supervisor import Member, Supervisor
from ingest.service.watch import PipelineWatch, Totals
from ingest.spark.asking import Asking
from ingest.spark.batch_time import BatchTimes
from ingest.spark.checkpoint import Checkpoint
from ingest.spark.job import Job
from ingest.spark.query import PipelineQuery, Trigger
from ingest.spark.reading import Frame, Session
from ingest.spark.session import close_session, is_alive, max_tasks, open_session
from sinks.driver_store import DriverStore

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """
    How this run behaves, as opposed to what the pipelines are.

    Attributes:
        once: read what is there, then end.
        start_from: where to begin without a checkpoint: group, earliest, latest or a time; None for the source's
            `start`.
        follow: told the totals of a pipeline after each acknowledged batch.
        lost_lines: asked, how many log lines were left out because nobody read them.
    """

    once: bool = False
    start_from: str | None = None
    follow: Callable[[str, Totals], None] = field(default=lambda _pipeline, _totals: None)
    lost_lines: Callable[[], int] = field(default=lambda: 0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    How a service ended.

    Attributes:
        totals: what each pipeline acknowledged.
        errors: of pipelines that failed for good.
        exit_code: 0, 130 after SIGINT, or the first error's.
    """

    totals: Mapping[str, Totals]
    errors: Sequence[BaseException]
    exit_code: int


def run(configuration: Configuration, catalog: Catalog, options: RunOptions, stop: Stop) -> Outcome:
    """
    Run all pipelines until they end or `stop` is asked for.

    Raises:
        IngestError: something needed is not there, held by somebody else or damaged; nothing was read.
    """
    recovery = _recovery()
    with ExitStack() as opened:
        metrics = Metrics(configuration.pipelines, lost_lines=options.lost_lines)
        health = Health(configuration.pipelines, on_change=metrics.state, mask=configuration.masks.hide)
        plans = {name: plan_of(configuration, pipeline, catalog) for name, pipeline in configuration.pipelines.items()}
        checkpoints = {name: _checkpoint(configuration, name, opened) for name in plans}
        times = {name: BatchTimes(checkpoint.folder / "times", now_ms) for name, checkpoint in checkpoints.items()}
        recovery()
        places = start_places(checkpoints, options.start_from)
        sources = {
            name: live_source(pipeline, checkpoints[name], times[name], places[name], metrics)
            for name, pipeline in configuration.pipelines.items()
        }
        _serve(HttpEndpoint(configuration.service.http.listen, health=health, render=metrics.render), options, opened)
        stores = driver_stores(configuration, plans.values(), opened)
        for name, store in stores.items():
            _reach(store.open, f'store "{name}"', options)
        queues = {
            name: _queue(configuration, pipeline, options, opened) for name, pipeline in configuration.pipelines.items()
        }
        recovery()
        try:
            session = _session(configuration, sources.values())
        except Exception as error:
            if not stop.asked.is_set():
                raise
            # told to end together with us, before it could be kept from hearing that
            _log.info("told to stop while Spark started", reason=str(error))
            return Outcome({name: Totals() for name in plans}, [], stop.exit_code)
        opened.callback(close_session, session)
        ask = Asking()
        refuse_cluster(stores, str(session.sparkContext.master))
        members = []
        watches = {}
        for name, pipeline in configuration.pipelines.items():
            watch = watches[name] = PipelineWatch(name, health, metrics, options.follow)
            used = {store: stores[store] for store in plans[name].stores if store in stores}
            job = Job(
                pipeline=name,
                plan=packed(plans[name]),
                batch_times=times[name],
                stores=used,
                families=family_registry(configuration, plans[name], used),
                incoming={store: incoming_folder(configuration, store, name) for store in used},
                publish=_Publisher(pipeline, queues[name], metrics),
                watch=watch,
                max_tasks=max_tasks(session),
            )
            query = PipelineQuery(name, checkpoints[name], job, ask)
            stream = partial(_stream, sources[name], used.values(), session)
            members.append(_member(checkpoints[name], query, watch, sources[name], stream, options, pipeline))
        supervisor = Supervisor(
            members,
            once=options.once,
            stop=stop,
            stop_timeout_s=configuration.service.stop_timeout,
            is_alive=lambda: ask(lambda: is_alive(session), otherwise=True),
            silent_s=lambda: ask.silent_s,
        )
        recovery()
        errors = supervisor.run()
        totals = {name: watch.totals for name, watch in watches.items()}
        return Outcome(totals, errors, _exit_code(errors, stop))


def _session(configuration: Configuration, sources: Collection[LiveSource]) -> Session:
    return open_session(
        "attr2hbase",
        master=configuration.spark.master,
        driver_memory_bytes=configuration.spark.driver_memory,
        conf=configuration.spark.conf,
        jars=list(dict.fromkeys(jar for source in sources for jar in source.jars)),
        java_properties={name: value for source in sources for name, value in source.java_properties.items()},
    )


def _recovery() -> Callable[[], None]:
    """The failpoint of a start, once it is known that what is asked for are failpoints."""
    armed = failpoint.check()
    if armed:
        _log.warning("failpoints are armed: this service is going to be hurt on purpose", points=armed)
    return failpoint.point("recovery")


def _serve(endpoint: HttpEndpoint, options: RunOptions, opened: ExitStack) -> None:
    """Start the endpoint; a run that soon ends does without it when the service beside it has the port."""
    try:
        endpoint.start()
    except ConflictError as error:
        if not options.once:
            raise
        _log.warning("no metrics of this run", reason=str(error))
    else:
        _log.info("metrics and health are served", url=endpoint.url)
    opened.callback(endpoint.stop)


def _checkpoint(configuration: Configuration, pipeline: str, opened: ExitStack) -> Checkpoint:
    checkpoint = Checkpoint(configuration.state_dir / "checkpoints" / pipeline)
    checkpoint.lock()
    opened.callback(checkpoint.unlock)
    checkpoint.verify()
    again = checkpoint.uncommitted()
    is_changed = checkpoint.is_changed(configuration.pipelines[pipeline].fingerprint)
    if again is not None and is_changed:
        _log.warning(
            "the last batch was not acknowledged and runs again with the new configuration",
            pipeline=pipeline,
            batch=again,
        )
    elif again is not None:
        _log.warning("the last batch was not acknowledged and runs again", pipeline=pipeline, batch=again)
    elif is_changed:
        _log.info("the configuration is another one than in the last run", pipeline=pipeline)
    return checkpoint


def _member(
    checkpoint: Checkpoint,
    query: PipelineQuery,
    watch: PipelineWatch,
    source: LiveSource,
    stream: Callable[[], Frame],
    options: RunOptions,
    pipeline: Pipeline,
) -> Member:
    trigger = Trigger(once=options.once, every_s=pipeline.trigger_every_s)

    def start() -> None:
        frame = stream()
        # only now: before that the checkpoint may be refused
        checkpoint.note_configuration(pipeline.fingerprint)
        query.start(frame, trigger)

    return Member(
        name=pipeline.name,
        query=query,
        watch=watch,
        start=start,
        close=source.close,
        lost=source.lost,
        away=source.away,
        every_s=0.0 if options.once else pipeline.trigger_every_s,
    )


def _stream(source: LiveSource, stores: Iterable[DriverStore], session: Session) -> Frame:
    """The records of a pipeline, once the stores are there that the driver has for it."""
    for store in stores:
        store.open()
    return source.frame(session)


def _queue(configuration: Configuration, pipeline: Pipeline, options: RunOptions, opened: ExitStack) -> DeadLetterQueue:
    queue = dead_letter_queue(configuration, pipeline)
    opened.callback(queue.close)
    _reach(queue.prepare, f'place for dead letters of pipeline "{pipeline.name}"', options)
    return queue


def _reach(reach: Callable[[], None], what: str, options: RunOptions) -> None:
    """
    Find out at the start what is wrong for good; what is merely away is for the pipelines that need it to wait for.

    A run that soon ends waits for nothing: somebody waits for it.
    """
    try:
        reach()
    except IngestError as error:
        if options.once or error.disposition is not Disposition.RETRY:
            raise
        _log.warning("not there yet", what=what, reason=str(error))


class _Publisher:
    """Dead letters of a batch: the error budget first, then the queue."""

    def __init__(self, pipeline: Pipeline, queue: DeadLetterQueue, metrics: Metrics) -> None:
        budget = pipeline.error_budget
        self._budget = ErrorBudget(share=budget.share, min_events=budget.min_events, window_s=budget.window)
        self._pipeline = pipeline.name
        self._queue = queue
        self._metrics = metrics

    def __call__(self, letters: Sequence[bytes], batch_id: int, counts: Counts, batch_time_ms: int) -> None:
        self._budget.check(batch_time_ms, counts.records, counts.failed)
        try:
            self._queue.publish(letters, batch_id, batch_time_ms)
        except IngestError:
            self._metrics.dead_letter_publish_failed(self._pipeline)
            raise


def _exit_code(errors: Sequence[BaseException], stop: Stop) -> int:
    for error in errors:
        return error.exit_code if isinstance(error, IngestError) else 1
    return stop.exit_code
