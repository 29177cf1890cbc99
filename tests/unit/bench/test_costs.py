"""The cost of every decorator is measured for its slowest case."""

import time

from decorators import BUILTIN
from ingest.api import DecorateError, Decorator, Event, Example, Settings
from tests.bench import costs, micro


def test_every_decorator_has_a_cost():
    figures = costs.decorators(loops=3)
    assert figures.keys() == BUILTIN.keys()
    assert min(figures.values()) > 0


class SlowOnLine(Decorator[Settings]):
    """Refuses some events, and is slow with those of 200 bytes."""

    kind = "slow_on_line"
    examples = (
        Example("refused", body="no", error="no_match"),
        Example("quick", body="yes"),
    )

    def decorate(self, event: Event) -> bool:
        if event.body == b"no":
            raise DecorateError("no", code="no_match")
        if event.body == costs.LINE:
            time.sleep(0.001)
        return True


def test_cost_is_that_of_the_slowest_case_without_an_error():
    assert costs.cost(SlowOnLine, 3) > 1_000_000


def test_slow_decorators_are_named():
    assert costs.slow_decorators({"b": 20_001.0, "a": 30_000.0, "c": 20_000.0}) == "Over 20 µs: a, b."
    assert costs.slow_decorators({"c": 5.0}) == "Over 20 µs: none."
    assert len(costs.LINE) == 200


def test_all_encoders_are_measured():
    figures = micro.writes()
    encoders = ("prepared", "thriftpy2's objects")
    thrift = [f"{protocol}, {name}" for protocol in ("binary", "compact") for name in encoders]
    assert list(figures) == [*thrift, micro.CELL_BLOCK]
    assert min(figures.values()) > 0
