"""Log lines: format, limits, and what they never contain."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Event, Origin, Record
from ingest.masks import Masks
from ingest.observe.logs import (
    MAX_VALUE_CHARS,
    REPEAT_WINDOW_S,
    REPEATS,
    LogFormat,
    LogLevel,
    current_level,
    logger,
    set_level,
    set_up,
)
from tests.support.clock import Clock
from tests.support.service import ROOT

NOON = datetime(2024, 5, 1, 12, 0, 0, 123000, UTC)


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, configured = list(root.handlers), root.level, structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in ("ingest", "decorators", "sinks"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    structlog.configure(**configured)


def output(**options) -> io.StringIO:
    stream = io.StringIO()
    set_up(stream=stream, now=lambda: NOON, **options)
    return stream


def lines(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_line_has_time_level_event_logger_and_fields():
    stream = output()
    logger("ingest.spark.streaming.batch_runner").warning("store blocked", pipeline="ticks", attempt=3)
    assert lines(stream) == [
        {
            "time": "2024-05-01T12:00:00.123+00:00",
            "level": "warning",
            "message": "store blocked",
            "logger": "ingest.spark.streaming.batch_runner",
            "pipeline": "ticks",
            "attempt": 3,
        }
    ]
    assert list(lines(stream)[0])[:3] == ["time", "level", "message"]


def test_console_line_has_time_level_event_and_sorted_fields():
    stream = output(log_format=LogFormat.CONSOLE)
    logger("a").info("batch stored", pipeline="ticks", reason="no row key", rows=5)
    expected = '2024-05-01T12:00:00.123+00:00 info    batch stored logger=a pipeline=ticks reason="no row key" rows=5\n'
    assert stream.getvalue() == expected


def test_level_change_applies_to_existing_loggers():
    stream = output(level=LogLevel.WARNING)
    log = logger("a")
    log.info("unseen")
    set_up(stream=stream, level=LogLevel.DEBUG)
    log.debug("seen")
    assert [line["message"] for line in lines(stream)] == ["seen"]


def test_exception_is_one_field_without_local_values():
    stream = output()

    def fails() -> None:
        body = b"topsecretbody"
        raise ValueError(len(body))

    try:
        fails()
    except ValueError:
        logger("a").exception("bug")
    [line] = lines(stream)
    assert line["level"] == "error"
    assert line["exception"].endswith("ValueError: 13")
    assert "topsecretbody" not in line["exception"]


class TestBounds:
    def test_repeated_line_is_suppressed_and_counted(self):
        clock = Clock(0.0)
        stream = output(monotonic=clock)
        log = logger("a")
        for _ in range(REPEATS + 7):
            log.warning("again")
        log.warning("another")
        clock.now = REPEAT_WINDOW_S
        log.warning("again")
        events = [(line["message"], line.get("suppressed")) for line in lines(stream)]
        assert events == [("again", None)] * REPEATS + [("another", None), ("again", 7)]
        stream.seek(0)
        notes = [line.get("further") for line in lines(stream)]
        assert notes == [None] * (REPEATS - 1) + ["left out for up to 60 s, then counted as suppressed", None, None]

    def test_repeats_are_counted_per_pipeline(self):
        stream = output()
        for pipeline in ("a", "b"):
            for _ in range(REPEATS + 1):
                logger("x").warning("blocked", pipeline=pipeline)
        assert len(lines(stream)) == 2 * REPEATS

    def test_long_text_is_cut(self):
        stream = output()
        logger("a").info("big", value="x" * 5000)
        assert lines(stream)[0]["value"] == "x" * MAX_VALUE_CHARS + "… (5000 characters)"

    def test_bodies_are_logged_as_sizes(self):
        stream = output()
        event = Event(b"topsecret", {"a": b"topsecret"}, origin=Origin("t", 1, 2))
        record = Record("t", 1, 2, b"topsecret", b"topsecret", 0)
        logger("a").info("seen", body=b"topsecret", event_=event, record=record, nested={"list": [b"topsecret", None]})
        [line] = lines(stream)
        assert [line["body"], line["event_"], line["record"], line["nested"]] == [
            "<9 bytes>",
            "<event t/1/2/0>",
            "<record t/1/2>",
            {"list": ["<9 bytes>", None]},
        ]

    @pytest.mark.parametrize("stream", [io.StringIO()], ids=["closed"])
    def test_closed_stderr_raises_no_error(self, stream):
        stream.close()
        set_up(stream=stream)
        logger("a").error("not written")


class TestControlCharacters:
    HOSTILE = 'a\x1b[31m\r\nlevel=error\x9b\u202e\u2028"=\x7f\ud800'

    @pytest.mark.parametrize("log_format", list(LogFormat))
    def test_control_characters_are_escaped(self, log_format):
        stream = output(log_format=log_format)
        logger("a").info(self.HOSTILE, **{self.HOSTILE: self.HOSTILE})
        text = stream.getvalue()
        assert text.count("\n") == 1
        assert [each for each in text[:-1] if not each.isprintable()] == []

    @given(text=st.text(), name=st.text())
    def test_json_round_trips_any_text(self, text, name):
        stream = output()
        logger("a").info("x", value=text, nested={name: [text]})
        assert stream.getvalue().splitlines() == [stream.getvalue()[:-1]]
        [line] = lines(stream)
        assert (line["value"], line["nested"]) == (text, {name: [text]})


class TestSecrets:
    def test_are_masked_in_every_field(self):
        stream = output(mask=Masks(["hunter2", "pa ss/w\"ö'"]).hide)
        try:
            raise ValueError("hunter2 refused")  # noqa: TRY301
        except ValueError:
            logger("a").exception(
                "hunter2",
                hunter2=1,
                url="sasl://me:pa%20ss%2Fw%22%C3%B6%27@host",
                nested=['{"p": "pa ss/w\\"ö\'"}', {"hunter2": "hunter2"}],
            )
        assert "hunter2" not in stream.getvalue()
        assert "ss/w" not in stream.getvalue()
        assert "ss%2Fw" not in stream.getvalue()
        assert lines(stream)[0]["message"] == "***"


class TestStandardLogging:
    def test_library_lines_are_written_from_warning_up(self):
        stream = output()
        logging.getLogger("kafka.conn").info("connecting")
        logging.getLogger("kafka.conn").warning("broker %s is down", "b1")
        logging.getLogger("py4j").log(45, "odd level")
        assert [(line["logger"], line["level"], line["message"]) for line in lines(stream)] == [
            ("kafka.conn", "warning", "broker b1 is down"),
            ("py4j", "error", "odd level"),
        ]

    def test_interrupt_of_the_user_is_no_line(self):
        stream = output()
        for error in (KeyboardInterrupt(), KeyError("x")):
            try:
                raise error
            except (KeyboardInterrupt, KeyError):
                logging.getLogger().exception("while sending command")
        assert [line["message"] for line in lines(stream)] == ["while sending command"]

    def test_own_lines_are_written_from_the_configured_level(self):
        stream = output(level=LogLevel.DEBUG)
        logging.getLogger("sinks.hbase.store").debug("opened")
        assert [line["message"] for line in lines(stream)] == ["opened"]

    def test_arguments_that_do_not_match_the_format_are_omitted(self):
        stream = output()
        record = logging.LogRecord("kafka", logging.WARNING, "", 1, "%d of %d", ("x",), None)
        logging.getLogger().handlers[-1].handle(record)
        assert lines(stream)[0]["message"] == "%d of %d"

    def test_set_up_twice_writes_once(self):
        output()
        stream = output()
        logging.getLogger("kafka").warning("once")
        assert [line["message"] for line in lines(stream)] == ["once"]


def test_frequent_lines_of_clients_are_suppressed_and_their_loggers_keep_their_level():
    """The door of Kafka reads the reason of a failed connection from one of these loggers."""
    stream = output()
    connections = logging.getLogger("kafka.net.manager")
    connections.error("connection refused")
    connections.critical("a bug")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["a bug"]
    assert connections.isEnabledFor(logging.WARNING)


def test_level_can_be_changed_while_lines_are_written():
    stream = output(level=LogLevel.INFO)
    log = logger("sinks.hbase")
    for level in (LogLevel.ERROR, LogLevel.DEBUG):
        set_level(level)
        assert current_level() is level
        log.debug("detail", at=level.value)
        log.warning("trouble", at=level.value)
    assert [(line["message"], line["at"]) for line in lines(stream)] == [("detail", "debug"), ("trouble", "debug")]


def test_lines_before_the_set_up_leave_stdout_to_data():
    program = "from ingest.observe.logs import logger; logger('x').warning('stopped', signal='SIGTERM')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "stopped" in done.stderr
    assert "SIGTERM" in done.stderr
