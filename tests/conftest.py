"""Markers by folder, and real servers that start when the first test needs them."""

import functools
import gc
import os
import signal
import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.support import short_lived

if TYPE_CHECKING:  # the clients these need are slow to import, and most runs start no server
    from tests.support.disk_faults import DiskFaults
    from tests.support.hdfs import Hdfs
    from tests.support.ledger.fixture import LedgerRuns
    from tests.support.ledger.report import Row
    from tests.support.servers import HBase, Kafka, Protocol
    from tests.support.ticks import Ticks

_HERE = Path(__file__).resolve().parent
_UNCONNECTED = r"unclosed <socket.*laddr=\('(0\.0\.0\.0|127\.0\.0\.1)', \d+\)>"
_SHOWN_S = 1.0  # of a setup or teardown, for `--durations`
_MARKED_FOLDERS = ("integration", "fault")
_STARTED = pytest.StashKey["list[Kafka | HBase | Hdfs]"]()
_SENT = pytest.StashKey["list[Row]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Register markers, and ignore two kinds of warnings of kafka-python."""
    # it reads its own files with a deprecated call, and does not close sockets that failed to connect
    config.addinivalue_line("filterwarnings", rf"ignore:{_UNCONNECTED}:ResourceWarning")
    config.addinivalue_line("filterwarnings", r"ignore:.*Use files\(\) instead:DeprecationWarning")
    # also for objects that are collected after the last test, where the lines above have no effect
    warnings.filterwarnings("ignore", _UNCONNECTED, ResourceWarning)
    config.addinivalue_line(
        "markers", "seeds(n): a test with a ledger runs with n seeds, instead of 1, or 3 if it is slow"
    )
    config.addinivalue_line("markers", "one_protocol(reason): a test of HBase without the fixture `protocol`")
    os.environ.update(short_lived.variables())
    config.stash[_STARTED] = []
    config.stash[_SENT] = []
    # a deadline and a slow search would be timing asserts
    common = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
    # a failure comes again in the next run: in the same examples, or from the folder
    hypothesis.settings.register_profile("quick", max_examples=40, derandomize=True, **common)
    kept = DirectoryBasedExampleDatabase(config.rootpath / ".hypothesis" / "examples")
    # else the profile that Hypothesis chooses where `CI` is set makes it repeat the same examples, too
    thorough = {"max_examples": 500, "derandomize": False, "print_blob": True, "database": kept}
    hypothesis.settings.register_profile("thorough", **thorough, **common)
    hypothesis.settings.load_profile("quick")  # `--hypothesis-profile` loads another later
    # a command reads those of all packages once; here thousands of commands run in one process
    entry_points = functools.cache(lambda _path, read=metadata.entry_points: read())
    metadata.entry_points = lambda **wanted: entry_points(tuple(sys.path)).select(**wanted)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect garbage neither meanwhile nor, later, among the objects of 21,000 tests: both take seconds of CPU."""
    gc.disable()
    if (worker := getattr(session.config, "workerinput", None)) is not None:
        from tests.support.rewriting import modules_of, write_part

        number = int(worker["workerid"].removeprefix("gw"))
        write_part(session.config, modules_of(session.config), number, worker["workercount"])
    result = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """
    Mark tests by their folder, and check that those of HBase run with both of its protocols.

    In a worker of pytest-xdist tests that need servers come first.
    """
    problems: dict[str, None] = {}
    folders = {path: path.relative_to(_HERE).parts[0] for path in {item.path for item in items}}
    for item in items:
        if (folder := folders[item.path]) in _MARKED_FOLDERS:
            from tests.support.protocols import problem_of

            item.add_marker(folder)
            if (problem := problem_of(item)) is not None:
                problems[problem] = None
    if problems:
        raise pytest.UsageError(*problems)
    if hasattr(config, "workerinput"):
        # short tests at the end keep all workers busy
        items.sort(key=lambda item: folders[item.path] not in _MARKED_FOLDERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile` one worker runs all files that use HBase."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.support.scheduling import FilesByServer

    return FilesByServer(config, log)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a ledger runs once for each seed."""
    if "ledger_seed" in metafunc.fixturenames:
        from tests.support.ledger.fixture import seeds_of

        marker = metafunc.definition.get_closest_marker("seeds")
        is_slow = metafunc.definition.get_closest_marker("slow") is not None
        count = seeds_of(is_slow=is_slow, marked=marker.args[0] if marker else None)
        metafunc.parametrize("ledger_seed", range(count), indirect=True, ids=[f"seed{each}" for each in range(count)])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """
    A worker of pytest-xdist reports a test once: setup and teardown only if they failed or took long.

    To send and receive a report takes a third of a millisecond of CPU, and most of 21,000 tests take two. So it neither
    reports that a test starts and ends, which only a longer output than that of `-q` shows.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    if not any(map(item.get_closest_marker, _MARKED_FOLDERS)):
        _end_servers(item.config)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.passed:
            report.keywords = {}  # half of what is sent
        if report.when == "call" or not report.passed or report.duration > _SHOWN_S:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def _end_servers(config: pytest.Config) -> None:
    """End the servers of a worker before the tests that need none, which come last: idle ones take CPU, too."""
    for server in config.stash[_STARTED]:
        server.close()
    config.stash[_STARTED].clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """
    A test that is skipped for want of a program fails in CI. One of both protocols of HBase that is skipped fails
    everywhere, unless a capability of its store says so.

    The report of a failed test tells which processes of HBase do not run.
    """
    report = yield
    if report.failed and (started := item.config.stash[_STARTED]):
        from tests.support.servers import HBase

        for server in started:
            if isinstance(server, HBase) and (ended := server.ended()):
                report.sections.append(("processes of HBase that do not run", ended))
    if report.skipped and call.excinfo is not None:
        from tests.support import programs, protocols

        reason = str(call.excinfo.value)
        problem = protocols.problem_of_skip(item, reason) or programs.problem_of_skip(reason)
        if problem is not None:
            report.outcome, report.longrepr = "failed", problem
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist sends the results of its injected faults."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["faults"] = [asdict(row) for row in _fault_rows()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive the results of a worker of pytest-xdist; a crashed one sent nothing."""
    if sent := getattr(node, "workeroutput", {}).get("faults"):
        from tests.support.ledger import report

        node.config.stash[_SENT] += [report.Row(**row) for row in sent]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the results of the injected faults."""
    if rows := [*config.stash[_SENT], *_fault_rows()]:
        from tests.support.ledger import report

        terminalreporter.section("faults and results")
        terminalreporter.write_line("\n".join(report.text_table(rows)))


def _fault_rows() -> "Sequence[Row]":
    # imported only by tests that inject a fault
    report = sys.modules.get("tests.support.ledger.report")
    return report.written() if report is not None else ()


@pytest.fixture(scope="session")
def servers_folder() -> Iterator[Path]:
    """A folder for servers, which are ended with the session, even if pytest is killed."""
    from tests.support.servers import TestFolder

    folder = TestFolder()
    try:
        yield folder.path
    finally:
        folder.close()


@pytest.fixture(scope="session")
def kafka(servers_folder: Path, pytestconfig: pytest.Config) -> "Iterator[Kafka]":
    """A Kafka broker, and the jars of Spark's connector; restarted before the next test if a test stopped it."""
    from ingest.spark.jars import fetch
    from tests.support.servers import Kafka

    fetch()
    server = Kafka(servers_folder / "kafka")
    try:
        server.start()
        pytestconfig.stash[_STARTED].append(server)
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def hbase(servers_folder: Path, pytestconfig: pytest.Config) -> "Iterator[HBase]":
    """HBase, Thrift and Thrift2; restarted before the next test if a test stopped them."""
    from tests.support.servers import HBase

    server = HBase(servers_folder / "hbase")
    try:
        server.start()
        pytestconfig.stash[_STARTED].append(server)
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module", params=["thrift", "rpc"])
def protocol(request: pytest.FixtureRequest) -> "Protocol":
    """
    Of stores that are HBase: Thrift, or native RPC.

    A test of HBase has this fixture and runs with both, or has the mark `one_protocol` (`tests.support.protocols`).
    """
    found: Protocol = request.param
    return found


@pytest.fixture(scope="session")
def hdfs(servers_folder: Path, pytestconfig: pytest.Config) -> "Iterator[Hdfs]":
    """HDFS with one NameNode and one DataNode; restarted before the next test if a test stopped them."""
    from tests.support.hdfs import Hdfs

    server = Hdfs(servers_folder / "hdfs")
    try:
        server.start()
        pytestconfig.stash[_STARTED].append(server)
        yield server
    finally:
        server.close()


@pytest.fixture
def disk_faults(tmp_path: Path) -> "DiskFaults":
    """Injects disk errors."""
    from tests.support.disk_faults import DiskFaults

    folder = tmp_path / "disk-faults"
    folder.mkdir()
    return DiskFaults(folder)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT has Python's handler, also in programs that the test starts: a shell ignores it for background jobs."""
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, earlier)


@pytest.fixture
def hangs_up() -> Iterator[None]:
    """SIGHUP has its default effect in programs that the test starts, also under `nohup`; here it has none."""
    earlier = signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    yield
    signal.signal(signal.SIGHUP, earlier)


@pytest.fixture(autouse=True)
def _servers_heal(pytestconfig: pytest.Config) -> Iterator[None]:
    yield
    for server in pytestconfig.stash[_STARTED]:
        server.start()


@pytest.fixture(scope="session")
def many_ticks(kafka: "Kafka") -> "Ticks":
    """200,000 ticks in 4 partitions, shared by tests because producing them takes five seconds."""
    from tests.support.ticks import Ticks

    return Ticks.produced(kafka, 200_000)


@pytest.fixture
def ledger_seed(request: pytest.FixtureRequest) -> int:
    """The seed of all random choices of a test."""
    from tests.support.ledger.fixture import seed_of

    return seed_of(request.param)


@pytest.fixture
def ledger_run(
    ledger_seed: int, request: pytest.FixtureRequest, tmp_path: Path, servers_folder: Path
) -> "Iterator[LedgerRuns]":
    """Creates a pipeline with a ledger of all its events: `run = ledger_run("F05 reset", store="hbase")`."""
    from tests.support.ledger.fixture import LedgerRuns

    protocol = None
    if "protocol" in request.fixturenames:
        protocol = request.getfixturevalue("protocol")
    elif request.node.get_closest_marker("one_protocol") is not None:
        protocol = "thrift"
    runs = LedgerRuns(tmp_path, ledger_seed, request.getfixturevalue, protocol=protocol)
    try:
        yield runs
    finally:
        runs.close()
