"""`attr2hbase tap` of a service without Spark."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ingest.api.taps import Tap, TapCounts
from ingest.catalog import Catalog
from ingest.cli import tap as module
from ingest.config import load
from ingest.dry_run import InputLines
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.taps import Taps
from ingest.receipt import SOURCE, ComponentType
from ingest.service.control import Control
from ingest.service.endpoint.access import token_file
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.pauses import Pauses
from tests.support.endpoint import TOKEN, pages, published
from tests.support.waiting import reached

EVENT = {
    "body": "b",
    "attributes": {"level": "error"},
    "host": "",
    "priority": "INFO",
    "timestamp_ms": 1_000,
    "nanos": 1,
}
EVENT |= {"key": "k", "topic": "t", "partition": 0, "offset": 7}
RECORD = {"value": "v", "key": None, "headers": [["h", "1"]], "topic": "t", "partition": 0, "offset": 7}
PUT = {"sink": "attr2hbase", "store": "logs", "table": "t", "row": "r", "timestamp_ms": 1, "cells": [["f", "q", "v"]]}


@pytest.fixture
def taps(pipeline: Path) -> Iterator[Taps]:
    """The taps of a running service, whose pipeline `ticks` has a decorator and a sink."""
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    activity, taps = Activity(), Taps()
    activity.built(
        "ticks",
        {
            SOURCE: "files",
            (ComponentType.DECORATOR, "regex"): "regex",
            (ComponentType.SINK, "attr2hbase"): "attr2hbase",
            (ComponentType.DECORATOR, "convert#2"): "convert",
            (ComponentType.DECORATOR, "convert#4"): "convert",
        },
    )
    control = Control(Pauses(configuration.local_dir), configuration.pipelines)
    health = Health(configuration.pipelines)
    endpoint = HttpEndpoint("127.0.0.1:0", pages(health, activity=activity, control=control, taps=taps), None)
    endpoint.start()
    with published(configuration.local_dir, endpoint.url):
        token_file(configuration.local_dir).write_text(TOKEN)
        yield taps
    endpoint.stop()


@pytest.fixture
def reporting(taps: Taps, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Let a task report lines as soon as there is a tap, and again until the end."""
    monkeypatch.setattr(module, "_POLL_S", 0.01)
    ended = threading.Event()
    threads = []

    def report(*lines: dict[str, Any]) -> None:
        def run() -> None:
            while not ended.wait(0.01):
                taps.deliver((tap.id, orjson.dumps(line)) for tap in taps.of("ticks") for line in lines)

        threads.append(threading.Thread(target=run))
        threads[0].start()

    yield report
    ended.set()
    for thread in threads:
        thread.join()


def test_records_that_are_read(reporting: Any, ingest: Any, taps: Taps) -> None:
    reporting({"record": RECORD | {"timestamp_ms": 1_000}})
    shown = ingest("tap", "--limit", 1)
    assert (shown.code, shown.out.splitlines()) == (
        0,
        ["t/0/7  1970-01-01T00:00:01.000Z", "  value = v", "  h = 1"],
    )
    assert shown.err == "1 event\n"
    assert taps.of("ticks") == ()


def test_events_at_a_decorator_are_what_explain_reads(reporting: Any, ingest: Any) -> None:
    reporting(EVENT)
    shown = ingest(
        "tap", "--pipeline", "ticks", "--at", "regex", "--before", "--where", "%{level} == 'error'", "--output", "json"
    )
    assert (shown.code, len(shown.lines), len(list(InputLines(shown.out.encode().splitlines())))) == (0, 10, 10)


def test_cells_of_a_sink(reporting: Any, ingest: Any) -> None:
    reporting(PUT, {"sink": "archive", "table": "customer", "row": {"a": 1}})
    shown = ingest("tap", "--at", "attr2hbase", "--limit", 2, "--follow")
    assert shown.out.splitlines() == [
        "  attr2hbase: logs/t row r",
        "    f:q = v",
        "  archive: customer",
        "    a = 1",
    ]
    assert shown.err == "2 writes\n"


def test_masked_event_is_said_not_to_replay(reporting: Any, ingest: Any) -> None:
    reporting(EVENT | {"body": "***"})
    assert "*** stands for a secret" in ingest("tap", "--at", "regex", "--limit", 1).err


def test_waiting_is_said(taps: Taps, ingest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET_S", 0.0)
    monkeypatch.setattr(module, "_POLL_S", 0.01)

    def later() -> None:
        assert reached(lambda: bool(taps.of("ticks")), 30)
        threading.Event().wait(0.1)
        taps.deliver([(taps.of("ticks")[0].id, orjson.dumps(EVENT))])

    thread = threading.Thread(target=later)
    thread.start()
    shown = ingest("tap", "--limit", 1)
    thread.join()
    assert 'waiting for events of "ticks", which is starting; Ctrl-C ends this\n' in shown.err


def test_failed_event_is_shown_with_its_error(reporting: Any, ingest: Any) -> None:
    about = {"component": "regex", "code": "no_match", "message": "the pattern does not match", "batch_time_ms": 1}
    reporting({"record": RECORD | {"timestamp_ms": 1_000}, "attributes": {"a": "1"}, "on_error": "drop", **about})
    shown = ingest("tap", "--failed", "--limit", 1)
    assert shown.out.splitlines() == [
        "t/0/7  1970-01-01T00:00:01.000Z",
        "  failed in regex: no_match: the pattern does not match, dropped",
        "  value = v",
        "  h = 1",
        "  a = 1",
    ]
    assert shown.err == "1 failed event\n"


def test_lines_are_cut_to_the_width_of_the_terminal(
    reporting: Any, pipeline: Path, terminal: Callable[..., str]
) -> None:
    reporting(EVENT | {"body": "größe " * 100, "attributes": {"long": "x" * 200, "short": "y"}})
    shown = terminal("tap", "--at", "regex", "--limit", "1", "--no-color", COLUMNS="40", TERM="dumb").splitlines()
    assert shown[2:5] == [
        f"  body = {('größe ' * 9)[:30]}…",
        f"  long = {'x' * 30}…",
        "  short = y",
    ]
    assert shown[5] == "lines are cut to the width of the terminal; with --output json they are whole"


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (
            TapCounts(1_204, absent={"statis"}, attributes={"status", "path"}),
            'none has the attribute "statis": did you mean "status"?; they have path, status; Ctrl-C ends this',
        ),
        (
            TapCounts(7, absent={"status"}),
            'none has the attribute "status"; they have no attributes, which decorators set: --at LABEL shows the ',
        ),
        (
            TapCounts(7, 0, 2, "no number", attributes={"status"}),
            "waiting: 0 of 7 compared events met the condition; for 2 it cannot be evaluated: no number; Ctrl-C",
        ),
        (TapCounts(), 'waiting for events of "ticks", which is starting; Ctrl-C ends this'),
    ],
)
def test_condition_that_no_event_meets_is_said(
    taps: Taps, ingest: Any, monkeypatch: pytest.MonkeyPatch, counts: TapCounts, text: str
) -> None:
    monkeypatch.setattr(module, "_QUIET_S", 0.0)
    monkeypatch.setattr(module, "_POLL_S", 0.01)
    open_tap = taps.open

    def opened(pipeline: str, tap: Tap) -> str:
        found = open_tap(pipeline, tap)
        taps.deliver((), [(found, counts)])
        threading.Timer(0.2, lambda: taps.deliver([(found, orjson.dumps(EVENT))], [(found, TapCounts(1, 1))])).start()
        return found

    monkeypatch.setattr(taps, "open", opened)
    shown = ingest("tap", "--limit", 1, "--where", "%{statis} == '500'", "--output", "json")
    assert [text in line for line in shown.err.splitlines()] == [True], shown.err
    assert (shown.code, len(shown.lines)) == (0, 1)


def test_numbers_of_compared_events_are_in_the_summary(
    taps: Taps, ingest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_tap = taps.open

    def opened(pipeline: str, tap: Tap) -> str:
        found = open_tap(pipeline, tap)
        taps.deliver([(found, orjson.dumps(EVENT))] * 2, [(found, TapCounts(30, 2))])
        return found

    monkeypatch.setattr(taps, "open", opened)
    shown = ingest("tap", "--limit", 2, "--where", "%{a} == '500'")
    assert shown.err == "2 events; 2 of 30 compared events met the condition\n"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("other",), 3, 'there is no pipeline "other"'),
        (("--at", "convert"), 2, 'has 2 components "convert"; name one: convert#2, convert#4'),
        (("--at", "no"), 3, 'pipeline "ticks" has no decorator or sink "no"'),
        (("ticks", "--pipeline", "other"), 2, 'two pipelines: "ticks" and "other"'),
        (("--at", "attr2hbase", "--before"), 2, "only a decorator has events before it"),
        (("--before",), 2, "only a decorator has events before it"),
        (("--at", "regex", "--before", "--failed"), 2, "events before a decorator have not failed in it"),
        (("--at", "no", "--failed"), 3, "it has source, regex, attr2hbase"),
        (("--where", "%{level} =="), 2, 'the condition "%{level} ==" is wrong'),
    ],
)
def test_wrong_request(taps: Taps, ingest: Any, options: tuple[str, ...], code: int, message: str) -> None:
    refused = ingest("tap", *options)
    assert (refused.code, message in refused.err) == (code, True), refused.err
    assert taps.of("ticks") == ()


def test_service_that_does_not_run(pipeline: Path, ingest: Any) -> None:
    assert "error[not_running]" in ingest("tap").err
