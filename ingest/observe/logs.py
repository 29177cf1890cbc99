"""Log lines on stderr: structured, bounded, and without secrets, bodies or control characters."""

import json
import logging
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from ingest.api import Event, IngestError, Record
from ingest.observe.log_level import LogLevel

REPEATS = 5  # of one line in one window; later ones are suppressed
REPEAT_WINDOW_S = 60.0
MAX_TRACKED_LINES = 1_000
MAX_VALUE_CHARS = 2_000
MAX_EXCEPTION_CHARS = 20_000

_PRODUCT_LOGGERS = ("ingest", "decorators", "sinks")
# redundant lines: our own exceptions, which we log ourselves, and each connection attempt of a Kafka client, since the
# blocked pipeline reports the outage once
_QUIET_LOGGERS = {
    "py4j.clientserver": logging.CRITICAL,
    "kafka.net.connection": logging.CRITICAL,
    "kafka.net.manager": logging.CRITICAL,
    "kafka.net.selector": logging.ERROR,
}
# C0 and C1 controls, line and paragraph separators, marks that turn the direction of text, lone surrogates
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class LogFormat(StrEnum):
    """Format of a log line."""

    JSON = "json"
    CONSOLE = "console"


def logger(name: str) -> FilteringBoundLogger:
    """
    The logger of a module, as in `logger(__name__)`.

    Pass values as keywords, never in the text: `log.warning("store blocked", pipeline=…, table=…)`. Repeated lines of
    the same text, logger and pipeline are suppressed, so callers need not limit them. Never log once per event.
    """
    bound: FilteringBoundLogger = structlog.wrap_logger(_Destination(name))
    return bound


def set_up(
    *,
    level: LogLevel = LogLevel.INFO,
    log_format: LogFormat = LogFormat.JSON,
    mask: Callable[[str], str] = str,
    stream: TextIO | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """
    Configure the log lines of this process; may be called again, to change the level or once the secrets are known.

    Lines of libraries that use `logging` are included, from warning up.

    Args:
        level: of our own lines.
        log_format: JSON for machines, console for people.
        mask: hides secrets.
        stream: stderr by default.
        monotonic: clock in seconds, for the limit on repeated lines.
        now: clock for the time of a line.
    """

    def stamp(lines: "_Lines", _method: str, line: EventDict) -> EventDict:
        line["logger"] = lines.name
        line["time"] = now().isoformat(timespec="milliseconds")
        return line

    processors: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        stamp,
        _RepeatLimit(monotonic),
        structlog.processors.format_exc_info,
        _Cleaner(mask),
        _as_json if log_format is LogFormat.JSON else _as_text,
    ]
    structlog.configure(
        processors=processors,
        context_class=dict,
        logger_factory=lambda name="": _Lines(stream, name),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _StandardHandler)]:
        root.removeHandler(handler)
    root.addHandler(_StandardHandler())
    root.setLevel(logging.WARNING)
    set_level(level)


def set_level(level: LogLevel) -> None:
    """Change the level of the log lines of this process; lines of libraries stay at warning."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level.number))
    for name in _PRODUCT_LOGGERS:
        logging.getLogger(name).setLevel(level.number)


def current_level() -> LogLevel:
    """The level of the log lines of this process."""
    number = logging.getLogger(_PRODUCT_LOGGERS[0]).level
    return next((level for level in LogLevel if level.number == number), LogLevel.INFO)


def traceback_of(error: Exception) -> Exception | None:
    """`exc_info` of the line about an error: with its traceback, unless the message of the error says enough."""
    return None if isinstance(error, IngestError) else error


class _RepeatLimit:
    """
    Suppresses a line after a few repeats per window; the last one says so, and the first of the next window has the
    number suppressed.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[object, ...], tuple[float, int]] = OrderedDict()

    def __call__(self, _logger: object, method: str, line: EventDict) -> EventDict:
        key = (method, str(line.get("logger")), str(line.get("pipeline")), str(line.get("event")))
        with self._lock:
            now_s = self._monotonic()
            since_s, count = self._seen.get(key, (now_s, 0))
            if now_s - since_s >= REPEAT_WINDOW_S:
                if count > REPEATS:
                    line["suppressed"] = count - REPEATS
                since_s, count = now_s, 0
            self._seen[key] = (since_s, count + 1)
            self._seen.move_to_end(key)
            if len(self._seen) > MAX_TRACKED_LINES:
                self._seen.popitem(last=False)
        if count >= REPEATS:
            raise structlog.DropEvent
        if count == REPEATS - 1:
            line["further"] = f"left out for up to {REPEAT_WINDOW_S:.0f} s, then counted as suppressed"
        return line


class _Cleaner:
    """Turns every value into plain JSON data without secrets and bodies, and cuts long text."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask

    def __call__(self, _logger: object, _method: str, line: EventDict) -> EventDict:
        kept = {name: line[name] for name in ("time", "level") if name in line}
        exception = line.pop("exception", None)
        cleaned = {self._text(str(name)): self._plain(value) for name, value in line.items()}
        if exception is not None:
            cleaned["exception"] = self._text(str(exception), MAX_EXCEPTION_CHARS)
        return cleaned | kept

    def _plain(self, value: object) -> object:  # noqa: PLR0911 one return a kind of value
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self._text(value)
            case bytes() | bytearray() | memoryview():
                return f"<{len(value)} bytes>"
            case Record():
                return self._text(f"<record {value.topic}/{value.partition}/{value.offset}>")
            case Event():
                return self._text("<event {}/{}/{}/{}>".format(*value.origin))
            case Mapping():
                return {self._text(str(name)): self._plain(inner) for name, inner in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self._plain(inner) for inner in value]
            case _:
                return self._text(str(value))

    def _text(self, value: str, limit: int = MAX_VALUE_CHARS) -> str:
        masked = self._mask(value)  # before it is cut, which may leave half a secret
        return masked if len(masked) <= limit else f"{masked[:limit]}… ({len(masked)} characters)"


def _as_json(_logger: object, _method: str, line: MutableMapping[str, Any]) -> str:
    first = {name: line.pop(name) for name in ("time", "level") if name in line}
    message = line.pop("event", "")  # the name that structlog gives it; an event is something else here
    text = json.dumps(first | {"message": message} | dict(line), ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _as_text(_logger: object, _method: str, line: MutableMapping[str, Any]) -> str:
    exception = line.pop("exception", None)
    head = [str(line.pop("time", "")), f"{line.pop('level', ''):<7}", str(line.pop("event", ""))]
    fields = [f"{name}={_quoted(value)}" for name, value in sorted(line.items())]
    lines = [" ".join([*head, *fields]), *(exception.splitlines() if exception else [])]
    return "\n".join(_UNSAFE.sub(_escape, each) for each in lines)


def _quoted(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return json.dumps(text, ensure_ascii=False) if isinstance(value, str) and re.search(r'[\s"=]', text) else text


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"  # noqa: PLR2004 two hexadecimal digits


class _Lines:
    """Writes lines to a stream; a closed one loses them. The stderr of a service is a `Drain`, which never blocks."""

    _lock = threading.Lock()

    def __init__(self, stream: TextIO | None, name: str) -> None:
        self._stream = stream
        self.name = name

    def msg(self, line: str) -> None:
        stream = self._stream or sys.stderr
        if stream is None:
            return  # stderr was closed before this process started
        with self._lock:
            try:
                stream.write(line + "\n")
                stream.flush()
            except (OSError, ValueError):
                pass  # a closed stream: no place to report it

    debug = info = warning = error = critical = msg


class _Destination:
    """
    Where the lines of a logger go: as structlog is configured, here or by the program that uses this package.

    Without a configuration, as in short commands, they go to stderr: structlog's default is stdout, which is for data.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, method: str) -> Callable[..., object]:
        factory = structlog.get_config()["logger_factory"] if structlog.is_configured() else partial(_Lines, None)
        found: Callable[..., object] = getattr(factory(self.name), method)
        return found


class _StandardHandler(logging.Handler):
    """
    Routes lines of `logging` through structlog, but for those that `_QUIET_LOGGERS` suppresses.

    The levels of those loggers stay: `ingest.kafka.clients` reads from one why a connection failed.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < _QUIET_LOGGERS.get(record.name, logging.NOTSET):
            return
        if record.exc_info and record.exc_info[0] is KeyboardInterrupt:
            return  # py4j logs the Ctrl-C that ends a command
        try:
            text = record.getMessage()
        except (TypeError, ValueError, KeyError):  # the arguments do not match the format
            text = str(record.msg)
        level = max((each for each in (10, 20, 30, 40, 50) if each <= record.levelno), default=logging.DEBUG)
        logger(record.name).log(level, text, exc_info=record.exc_info or False)
