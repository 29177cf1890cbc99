"""Nanoseconds per event of every decorator, for the slowest of its examples or for a typical line."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ingest.api import Buffered, Decorator, Event, EventError, Example, FanOut
from ingest.catalog import Catalog
from ingest.testing.events import event_before, files_of, settings_of
from tests.bench.timing import LOOPS, measured

LINE = (
    b'203.0.113.9 - alice [26/Jul/2026:11:48:05 +0000] "GET /shop/item/42?page=7&sort=price HTTP/1.1" 200 5120 '
    b'"https://shop.example/start" "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140"'
)[:200]
SLOW_NS = 20_000
_ROUGHLY = 200  # calls to find the slowest case, which is then measured with more calls

Case = tuple[Callable[[Event], object], Callable[[], Event]]


def decorators(loops: int = LOOPS) -> dict[str, float]:
    """Decorator -> ns per event, for its slowest case: one of its examples, or its options on LINE."""
    catalog = Catalog()
    return {name: cost(catalog.load("decorators", name), loops) for name in catalog.names("decorators")}


def slow_decorators(figures: dict[str, float]) -> str:
    """A sentence that names the decorators above SLOW_NS."""
    slow = [name for name, cost in sorted(figures.items()) if cost > SLOW_NS]
    return f"Over {SLOW_NS // 1000} µs: {', '.join(slow) or 'none'}."


def cost(component: type[Any], loops: int) -> float:
    """Nanoseconds of a decorator for its slowest case without an error; of one that fails every event, with it."""
    rough = {
        (number, body): measured(*case, loops=_ROUGHLY)
        for number, example in enumerate(component.examples)
        for body, case in _cases(component, example)
    }
    number, body = max(rough, key=lambda case: rough[case])
    return next(
        measured(*case, loops=loops) for of, case in _cases(component, component.examples[number]) if of == body
    )


def _cases(component: type[Any], example: Example) -> Iterator[tuple[bytes, Case]]:
    """(body, (call, maker of its events)) of each case without an error; the files of the example exist meanwhile."""
    with files_of([example]):
        call = _call(component(settings_of(component.settings_class(), example.settings)))
        if all(each.error for each in component.examples):
            call = _failing(call)
        event = event_before(example)
        for each in (event, replace(event.copy(), body=LINE)):
            with suppress(EventError):
                call(each.copy())
                yield each.body, (call, lambda each=each: each.copy())


def _failing(call: Callable[[Event], object]) -> Callable[[Event], object]:
    """A call of a decorator that fails every event, which is what it costs."""

    def fail(event: Event) -> None:
        with suppress(EventError):
            call(event)

    return fail


def _call(decorator: Decorator[Any] | FanOut[Any]) -> Callable[[Event], object]:
    if isinstance(decorator, Decorator):
        return decorator.decorate

    def made(event: Event) -> object:
        answer = decorator.decorate(event)
        return answer if isinstance(answer, Buffered) else list(answer)

    return made
