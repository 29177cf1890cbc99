"""Events and settings for tests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from ingest.api import Event, Example, Model, Origin, Priority, WriteOnceEvent
from ingest.api.notation import name_to_bytes
from ingest.config.nodes import compose, plain

M = TypeVar("M", bound=Model)

_TEXTS = (
    b"",
    b"a",
    b"12",
    b"-7.5",
    b"2238947398:56",
    b"a:b::",
    b"2010-07-26T11:48:05Z",
    b"10/Oct/2000:13:55:36 -0700",
    b'{"a": {"b": [1, null, 2.50]}, "c": null}',
    b'{"a":',
    b"[[]]",
    b'10.0.0.1 - - "GET / HTTP/1.1" 200 5',
    "größe ✓".encode(),
    b"\x00\xff\xfe",
    b"%{host}",
    b" \n\t",
)
_NAMES = ("", "a", "b", "2hb_", "2hb_f:q", "2hb_a:b:c", "time", "größe", "\udcff", "x y", "%{a}", "a.b")


def event_of(  # noqa: PLR0913 - the fields of an event
    body: str | bytes = b"",
    attributes: Mapping[str, str | bytes] | None = None,
    *,
    host: str = "",
    priority: Priority = Priority.INFO,
    key: str | bytes = b"",
    timestamp_ms: int = 0,
    nanos: int = 0,
    origin: Origin | None = None,
    write_once: bool = False,
    tombstone: bool = False,
) -> Event:
    """An event; text stands for its bytes in UTF-8."""
    return (WriteOnceEvent if write_once else Event)(
        body=_bytes(body),
        attributes={name: _bytes(value) for name, value in (attributes or {}).items()},
        timestamp_ms=timestamp_ms,
        nanos=nanos,
        host=host,
        priority=priority,
        key=_bytes(key),
        origin=origin or Origin("topic", 0, 0),
        tombstone=tombstone,
    )


def event_before(example: Example) -> Event:
    """The event before an example."""
    return event_of(
        example.body,
        example.attributes,
        host=example.host,
        priority=example.priority,
        key=example.key,
        timestamp_ms=example.timestamp_ms,
        nanos=example.nanos,
        origin=Origin("topic", 0, example.offset + len(example.earlier)),
    )


def events_earlier(example: Example) -> list[Event]:
    """The previous events of its split."""
    return [
        event_before(replace(example, body=body, offset=example.offset + number, earlier=()))
        for number, body in enumerate(example.earlier)
    ]


def event_after(example: Example) -> Event:
    """The event after an example of a decorator."""
    event = event_before(example)
    for name, value in example.after.items():
        if value is None:
            del event.attributes[name]
        else:
            event.attributes[name] = _bytes(value)
    if example.body_after is not None:
        event.body = _bytes(example.body_after)
    if example.timestamp_ms_after is not None:
        event.timestamp_ms = example.timestamp_ms_after
    return event


def events_after(example: Example) -> list[Event]:
    """The events after an example: at most one for a decorator, any number for a fan-out."""
    if example.dropped:
        return []
    if example.made is None:
        return [event_after(example)]
    return [
        replace(
            event_before(example),
            body=_bytes(body),
            attributes={name: _bytes(value) for name, value in attributes.items()},
        )
        for body, attributes in example.made
    ]


def fields_of(event: Event) -> tuple[object, ...]:
    """All fields of an event except its origin, for comparison; the order of attributes does not count."""
    return (
        event.body,
        sorted(event.attributes.items()),
        event.timestamp_ms,
        event.nanos,
        event.host,
        event.priority,
        event.key,
        event.tombstone,
    )


def random_events(count: int = 200, *, seed: int = 1) -> Iterator[Event]:
    """Events of all kinds, the same for the same seed: texts in the formats of decorators, and arbitrary bytes."""
    for event in _random_events(count, seed):
        yield event.copy()  # a suite needs them for each test of each decorator, and a decorator changes them


@cache
def _random_events(count: int, seed: int) -> Sequence[Event]:
    random = Random(seed)  # noqa: S311 - test data
    return [_random_event(random, number) for number in range(count)]


def _random_event(random: Random, offset: int) -> Event:
    names = random.sample(_NAMES, random.randrange(len(_NAMES)))
    return event_of(
        _random_text(random),
        {name: _random_text(random) for name in names},
        host=random.choice(("", "web-1", "\udcff")),
        priority=random.choice(list(Priority)),
        key=_random_text(random),
        timestamp_ms=random.choice((0, 1308748686334, -1, 2**62)),
        nanos=random.randrange(-5, 2**62),
        origin=Origin("topic", random.randrange(4), offset),
        write_once=random.random() < 0.3,  # noqa: PLR2004 - often enough to matter
        tombstone=random.random() < 0.1,  # noqa: PLR2004 - often enough to matter
    )


def settings_of(model: type[M], text: str = "{}", *, timezone: str = "UTC") -> M:
    """
    Options from their YAML text, as in a pipeline file.

    Raises:
        pydantic.ValidationError: the component does not have these options.
    """
    return model.model_validate(_content(text), context={"timezone": timezone})


@contextmanager
def files_of(examples: Iterable[Example]) -> Iterator[None]:
    """Change to a folder with the files that examples name, if there are any, for the time of the block."""
    files = {name: content for example in examples for name, content in example.files.items()}
    if not files:
        yield
        return
    with TemporaryDirectory() as folder, chdir(folder):
        for name, content in files.items():
            Path(name).write_bytes(_bytes(content))
        yield


def _content(text: str) -> dict[str, Any]:
    node = compose(text, "settings", [])
    content: Any = {} if node is None else plain(node)
    return content or {}


def _bytes(text: str | bytes) -> bytes:
    return name_to_bytes(text) if isinstance(text, str) else text


def _random_text(random: Random) -> bytes:
    return random.choice(_TEXTS) if random.random() < 0.7 else random.randbytes(random.randrange(12))  # noqa: PLR2004
