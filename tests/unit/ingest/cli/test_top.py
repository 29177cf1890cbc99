"""`attr2hbase top` of a service without Spark."""

import io
import os
import pty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.cli.output import Output
from ingest.cli.shown_components import findings
from ingest.config import load
from ingest.observe.activity import Activity
from ingest.observe.health import Health, State
from ingest.observe.results import JvmMemory
from ingest.receipt import SOURCE, ComponentType, Counts, Figures
from ingest.service.endpoint.http import HttpEndpoint
from tests.support.call_times import timed
from tests.support.endpoint import pages, published

PARSE = (ComponentType.DECORATOR, "parse")


@pytest.fixture
def health() -> Health:
    """The states of the pipelines of a running service."""
    return Health(["ticks"])


@pytest.fixture
def activity(pipeline: Path, health: Health) -> Iterator[Activity]:
    """What the pipeline `ticks` of a running service did."""
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    activity = Activity()
    health.change("ticks", State.BLOCKED, "store_unavailable: refused\nand more")
    activity.built("ticks", {SOURCE: "files", PARSE: "regex"})
    endpoint = HttpEndpoint("127.0.0.1:0", pages(health, activity=activity), None)
    endpoint.start()
    with published(configuration.local_dir, endpoint.url):
        yield activity
    endpoint.stop()


def test_one_picture_if_stdout_is_no_terminal(activity: Activity, ingest: Callable[..., Any]) -> None:
    figures = {
        SOURCE: Figures(1_000, 1_000, 0, 0, timed(20, 20_000)),
        PARSE: Figures(1_000, 900, 0, 100, timed(20, 180_000)),
    }
    activity.durable("ticks", 7, 0, Counts(components=figures, worker_bytes=3 << 20), 1.5)
    activity.failed("ticks", "source_unavailable", "away")
    activity.failed("ticks", "store_unavailable", "refused")
    activity.jvm(JvmMemory(1 << 20, 2 << 20, 0.25))
    shown = ingest("top", "--pipeline", "ticks", "--every", 1)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert "JVM 1 MiB of 2 MiB, GC 0.2 s" in lines[0]
    assert [line.split()[0] for line in lines if line.startswith(" ticks")] == ["ticks"]
    assert any(
        line.startswith("ticks  micro-batch 7 took 1.50 s, ") and "largest worker 3 MiB" in line for line in lines
    )
    assert "  regex (parse) fails 10.0% of its events" in lines
    assert "  regex (parse) takes 90% of the time, 9.0 µs an event" in lines
    assert lines[-2] == "  blocked: store_unavailable: refused"
    assert lines[-1].endswith("Z  source_unavailable: away")
    assert max(map(len, lines)) <= 80


LONG = "the region server hbase-17.example.com:16020 has not answered within ten seconds " * 3


def test_picture_fits_80_columns_with_large_numbers_and_long_errors(
    activity: Activity, ingest: Callable[..., Any]
) -> None:
    slow = Figures(123_456_789, 120_000_000, 45_678, 3_411_111, timed(1_000, 12_345_678_000))
    activity.durable("ticks", 7, 0, Counts(components={SOURCE: slow, PARSE: slow}), 1.5)
    activity.failed("ticks", "store_unavailable", LONG)
    lines = ingest("top").out.splitlines()
    assert max(map(len, lines)) <= 80
    (row,) = [line.split() for line in lines if line.startswith(" regex (parse)")]
    assert row[2:5] + row[-2:] == ["123.5M", "45,678", "3,411,111", "12,346", "50%"]
    (place,) = [number for number, line in enumerate(lines) if "store_unavailable: the region" in line]
    assert " ".join(line.strip() for line in lines[place : place + 4]).endswith(LONG.strip())
    assert all(line.startswith("  ") for line in lines[place : place + 4])


def test_error_is_shown_once(activity: Activity, health: Health, ingest: Callable[..., Any]) -> None:
    error = LONG * 9
    health.change("ticks", State.BLOCKED, f"store_unavailable: {error}; since two minutes")
    for _ in range(3):
        activity.failed("ticks", "store_unavailable", error)
        activity.failed("ticks", "source_unavailable", "away")
    out = ingest("top").out
    assert (out.count("store_unavailable"), out.count("source_unavailable"), out.count("…")) == (1, 1, 1)


def test_failures_of_a_slow_pipeline_are_a_fraction_of_its_few_events() -> None:
    activity = Activity()
    activity.built("p", {PARSE: "regex"})
    activity.durable("p", 0, 0, Counts(components={PARSE: Figures(4, 3, 0, 1)}), 1.0)
    (parse,) = activity.of("p")["components"]
    parse["rates"] = dict.fromkeys(parse["rates"], 0.0)  # as they are rounded after a minute
    assert list(findings([parse])) == ["regex (parse) fails 25.0% of its events"]


def test_json_has_an_object_for_each_pipeline(activity: Activity, ingest: Callable[..., Any]) -> None:
    found = ingest("top", "--output", "json").json
    assert (found["name"], [each["name"] for each in found["components"]]) == ("ticks", ["source", "parse"])


def test_nothing_strikes_while_nothing_was_read(activity: Activity, ingest: Callable[..., Any]) -> None:
    out = ingest("top").out
    assert ("no micro-batch yet" in out, "takes" in out, "fails" in out) == (True, False, False)


def test_unknown_pipeline(activity: Activity, ingest: Callable[..., Any]) -> None:
    assert ingest("top", "--pipeline", "other").code == 3


def test_service_that_does_not_run(pipeline: Path, ingest: Callable[..., Any]) -> None:
    assert "error[not_running]" in ingest("top").err


def test_pictures_replace_each_other_on_the_terminal() -> None:
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w") as terminal:
        out = Output(terminal, io.StringIO(), is_plain=True)
        assert out.has_screen
        with out.screen("… more") as draw:
            draw(lambda: out.table(("a", "#b"), [("first", "1")]))
            draw(lambda: out.line("\n".join(f"line {number}" for number in range(200))))
        shown = ""
        while "\x1b[?1049l" not in shown:
            shown += os.read(reading, 1 << 16).decode()
    os.close(reading)
    assert shown.startswith("\x1b[?1049h")
    assert [text in shown for text in (" first   1", "line 0", "… more", "line 199")] == [True, True, True, False]
